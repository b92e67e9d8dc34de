import * as React from 'react';
import type { SessionSummary } from '../api/types.gen';
import { useNow } from './hooks';
import { IconButton } from './icons';
import { ago, plain, STATES } from './words';

export interface SessionListProps {
  sessions: readonly SessionSummary[];
  loaded: boolean;
  current: string | null;
  onOpen: (sessionId: string) => void;
  onRename: (sessionId: string, title: string) => void;
  onArchive: (sessionId: string, archived: boolean) => void;
}

export function titleOf(session: { title: string }): string {
  return plain(session.title.trim()) || 'New session';
}

/** All sessions, newest activity first; the archive is folded, workers are shown by those for whom they work. */
export function SessionList(props: SessionListProps): React.JSX.Element {
  const own = props.sessions.filter(entry => entry.parent === null);
  const live = own.filter(entry => !entry.archived);
  const archived = own.filter(entry => entry.archived);
  const [open, setOpen] = React.useState(false);
  return (
    <div className="jp-Pernix-sessions">
      {props.loaded && live.length === 0 && <p className="jp-Pernix-empty">No sessions yet.</p>}
      <ul className="jp-Pernix-list" aria-label="Sessions">
        {live.map(entry => (
          <Row key={entry.session_id} session={entry} {...props} />
        ))}
      </ul>
      {archived.length > 0 && (
        <details className="jp-Pernix-archive" onToggle={event => setOpen(event.currentTarget.open)}>
          <summary>Archive ({archived.length})</summary>
          {open && (
            <ul className="jp-Pernix-list" aria-label="Archived sessions">
              {archived.map(entry => (
                <Row key={entry.session_id} session={entry} {...props} />
              ))}
            </ul>
          )}
        </details>
      )}
    </div>
  );
}

/** Sets the focus on the row beside the one that goes away. */
function focusBeside(row: HTMLLIElement | null): void {
  const beside = row?.nextElementSibling ?? row?.previousElementSibling;
  beside?.querySelector('button')?.focus();
}

/** Whether it, or a session that works for it, waits for an answer. */
function asked(session: SessionSummary, all: readonly SessionSummary[]): boolean {
  return all.some(
    entry =>
      entry.open_approvals > 0 &&
      (entry.session_id === session.session_id || entry.parent === session.session_id)
  );
}

function Row(props: SessionListProps & { session: SessionSummary }): React.JSX.Element {
  const { session, current, onOpen, onRename, onArchive } = props;
  const [editing, setEditing] = React.useState(false);
  const [edited, setEdited] = React.useState(false);
  const row = React.useRef<HTMLLIElement>(null);
  const now = useNow(false);
  const { label, tone } = STATES[session.state];
  const asks = tone === 'asks' || asked(session, props.sessions);
  const title = titleOf(session);
  const facts = [ago(session.updated_at, now), session.space_root || 'top folder', session.mode];
  if (editing) {
    return (
      <li className="jp-Pernix-row">
        <TitleField
          title={session.title}
          onDone={(value, byKey) => {
            setEditing(false);
            setEdited(byKey);
            if (value !== null) {
              onRename(session.session_id, value);
            }
          }}
        />
      </li>
    );
  }
  return (
    <li
      ref={row}
      className={session.session_id === current ? 'jp-Pernix-row jp-mod-current' : 'jp-Pernix-row'}
    >
      <button
        type="button"
        className="jp-Pernix-open"
        aria-current={session.session_id === current}
        onClick={() => onOpen(session.session_id)}
      >
        <span
          className={`jp-Pernix-dot jp-mod-${asks ? 'asks' : tone}`}
          role="img"
          aria-label={label}
          title={label}
        />
        <span className="jp-Pernix-rowTitle">{title}</span>
        <span className="jp-Pernix-rowFacts">
          {asks && <span className="jp-Pernix-chip jp-mod-asks">Needs you</span>} {facts.join(' · ')}
        </span>
      </button>
      <span className="jp-Pernix-rowActions">
        <IconButton icon="edit" label={`Rename ${title}`} focused={edited} onClick={() => setEditing(true)} />
        <IconButton
          icon={session.archived ? 'restore' : 'archive'}
          label={session.archived ? `Take ${title} out of the archive` : `Archive ${title}`}
          onClick={() => {
            focusBeside(row.current);
            onArchive(session.session_id, !session.archived);
          }}
        />
      </span>
    </li>
  );
}

/** A title being edited: Enter or leaving keeps it, Escape does not. */
export function TitleField(props: {
  title: string;
  /** `title` null: it stays as it was. `byKey`: the focus was still here. */
  onDone: (title: string | null, byKey: boolean) => void;
}): React.JSX.Element {
  const [text, setText] = React.useState(props.title);
  const done = React.useRef(false);
  const finish = (value: string | null, byKey: boolean) => {
    if (!done.current) {
      done.current = true;
      const changed = value !== null && value.trim() !== '' && value !== props.title;
      props.onDone(changed ? value.trim() : null, byKey);
    }
  };
  return (
    <input
      className="jp-Pernix-input"
      aria-label="Session title"
      autoFocus
      value={text}
      onChange={event => setText(event.target.value)}
      onFocus={event => event.target.select()}
      onBlur={() => finish(text, false)}
      onKeyDown={event => {
        if (event.key === 'Enter' && !event.nativeEvent.isComposing) {
          finish(text, true);
        } else if (event.key === 'Escape') {
          event.stopPropagation();
          finish(null, true);
        }
      }}
    />
  );
}
