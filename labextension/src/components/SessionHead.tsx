import * as React from 'react';
import type { SessionView } from '../api/types.gen';
import { useNow } from './hooks';
import { IconButton } from './icons';
import { titleOf, TitleField } from './SessionList';
import { duration, secondsBetween, STATES } from './words';

export interface SessionHeadProps {
  view: SessionView;
  /** Installed kernelspecs by name, with the words for them. */
  kernels: ReadonlyMap<string, string>;
  onRename: (title: string) => void;
  onKernel: (name: string) => void;
  onOpenRecord: () => void;
}

/** What this session is and what it is doing, in words. */
export function SessionHead(props: SessionHeadProps): React.JSX.Element {
  const { view } = props;
  const [editing, setEditing] = React.useState(false);
  const [edited, setEdited] = React.useState(false);
  const hasRecord = view.turns.some(turn => turn.finished_at !== null && turn.started_at !== null);
  return (
    <div className="jp-Pernix-head">
      <div className="jp-Pernix-headLine">
        {editing ? (
          <TitleField
            title={view.title}
            onDone={(title, byKey) => {
              setEditing(false);
              setEdited(byKey);
              if (title !== null) {
                props.onRename(title);
              }
            }}
          />
        ) : (
          <h2 className="jp-Pernix-title" title={titleOf(view)}>
            {titleOf(view)}
          </h2>
        )}
        {!editing && (
          <IconButton icon="edit" label="Rename session" focused={edited} onClick={() => setEditing(true)} />
        )}
        <IconButton
          icon="notebook"
          label="Open run notebook"
          disabled={!hasRecord}
          onClick={props.onOpenRecord}
        />
      </div>
      <div className="jp-Pernix-headLine jp-Pernix-stateLine">
        <StateWords view={view} />
        <span className="jp-Pernix-dim" title={`Works in the folder ${view.space_root || '/'}`}>
          {view.space_root || 'top folder'}
        </span>
        <KernelSelect {...props} />
      </div>
      {view.endpoint === 'tour' && (
        <div className="jp-Pernix-ribbon" role="note">
          Recorded tour — not a model. The files, the kernel and the results are real; what is said was
          recorded.
        </div>
      )}
    </div>
  );
}

function StateWords(props: { view: SessionView }): React.JSX.Element {
  const { view } = props;
  const { label, tone } = STATES[view.state];
  const now = useNow(tone !== 'rest');
  const since =
    tone === 'rest' ? '' : ` for ${duration(Math.floor(secondsBetween(view.state_since, now)) || 1)}`;
  return (
    <span className="jp-Pernix-state" data-state={view.state}>
      <span className={`jp-Pernix-dot jp-mod-${tone}`} aria-hidden="true" />
      {label}
      {since}
    </span>
  );
}

function KernelSelect(props: SessionHeadProps): React.JSX.Element {
  const { view, kernels, onKernel } = props;
  const own = view.kernel_name;
  if (view.place !== 'own') {
    return <span className="jp-Pernix-dim">runs code in its cell</span>;
  }
  return (
    <select
      className="jp-Pernix-select jp-mod-quiet"
      aria-label="Kernel"
      title="The kernel that runs this session's code"
      value={own}
      disabled={view.state !== 'idle_ready'}
      onChange={event => onKernel(event.target.value)}
    >
      {!kernels.has(own) && <option value={own}>{own || 'Default kernel'}</option>}
      {[...kernels].map(([name, words]) => (
        <option key={name} value={name}>
          {words}
        </option>
      ))}
    </select>
  );
}
