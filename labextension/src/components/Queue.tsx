import * as React from 'react';
import type { TurnView } from '../api/types.gen';
import { IconButton } from './icons';

export interface QueueProps {
  turns: readonly TurnView[];
  onWithdraw: (turnId: string) => void;
  onEdit: (turnId: string, text: string) => Promise<boolean>;
  /** The turn of a message began while its text was being changed: what was typed must not go with it. */
  onLost: (text: string) => void;
}

interface Editing {
  turnId: string;
  text: string;
  before: string;
}

/** The messages that wait for their turn, next one first. */
export function Queue(props: QueueProps): React.JSX.Element | null {
  const { turns, onWithdraw, onEdit, onLost } = props;
  const [editing, setEditing] = React.useState<Editing | null>(null);
  const [edited, setEdited] = React.useState('');
  const gone = editing !== null && turns.every(turn => turn.turn_id !== editing.turnId);
  // Once, at the moment when its turn begins; what is typed meanwhile is no new reason.
  React.useEffect(() => {
    if (gone) {
      setEditing(null);
      if (editing.text.trim() !== editing.before.trim()) {
        onLost(editing.text);
      }
    }
  }, [gone]); // eslint-disable-line react-hooks/exhaustive-deps
  if (turns.length === 0) {
    return null;
  }
  const save = async ({ turnId, text, before }: Editing) => {
    if (text.trim() === '' || (text.trim() !== before.trim() && !(await onEdit(turnId, text.trim())))) {
      return;
    }
    setEditing(null);
    setEdited(turnId);
  };
  return (
    <ul className="jp-Pernix-queue" aria-label="Queued messages">
      {turns.map((turn, index) => (
        <li key={turn.turn_id} className="jp-Pernix-queued">
          {editing?.turnId === turn.turn_id ? (
            <EditField
              text={editing.text}
              onText={text => setEditing({ ...editing, text })}
              onSave={() => void save(editing)}
              onLeave={() => {
                setEditing(null);
                setEdited(turn.turn_id);
              }}
            />
          ) : (
            <>
              <span className="jp-Pernix-chip">{index === 0 ? 'Next' : index + 1}</span>
              <span className="jp-Pernix-queuedText" title={turn.text}>
                {turn.text}
              </span>
              <IconButton
                icon="edit"
                label="Edit message"
                focused={edited === turn.turn_id}
                onClick={() => setEditing({ turnId: turn.turn_id, text: turn.text, before: turn.text })}
              />
              <IconButton icon="close" label="Withdraw" onClick={() => onWithdraw(turn.turn_id)} />
            </>
          )}
        </li>
      ))}
    </ul>
  );
}

/** Enter keeps the new text, Escape the old one. */
function EditField(props: {
  text: string;
  onText: (text: string) => void;
  onSave: () => void;
  onLeave: () => void;
}): React.JSX.Element {
  const { text, onText, onSave, onLeave } = props;
  return (
    <>
      <textarea
        className="jp-Pernix-input"
        aria-label="Queued message"
        autoFocus
        rows={Math.min(6, text.split('\n').length + Math.floor(text.length / 60))}
        value={text}
        onChange={event => onText(event.target.value)}
        onKeyDown={event => {
          if (event.nativeEvent.isComposing) {
            return;
          }
          if (event.key === 'Enter' && !event.shiftKey) {
            event.preventDefault();
            onSave();
          } else if (event.key === 'Escape') {
            event.preventDefault();
            event.stopPropagation();
            onLeave();
          }
        }}
      />
      <IconButton icon="check" label="Save message" disabled={text.trim() === ''} onClick={onSave} />
      <IconButton icon="close" label="Leave it as it was" onClick={onLeave} />
    </>
  );
}
