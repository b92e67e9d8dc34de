import * as React from 'react';
import type { EndpointInfo, NotebookView, SessionSummary, SessionView } from '../api/types.gen';
import { PERMISSIONS, sandboxWords } from './gatewords';
import { useNow } from './hooks';
import { Icon, IconButton } from './icons';
import { titleOf, TitleField } from './SessionList';
import {
  baseName,
  clockTime,
  duration,
  NOTEBOOK,
  plain,
  secondsBetween,
  secondsLeft,
  stateWords,
  STATES
} from './words';

export interface SessionHeadProps {
  view: SessionView;
  /** Installed kernelspecs by name, with the words for them. */
  kernels: ReadonlyMap<string, string>;
  onRename: (title: string) => void;
  onKernel: (name: string) => void;
  onOpenRecord: () => void;
  /** Opens the notebook that the session is attached to. */
  onOpenNotebook?: (path: string) => void;
  /** Lets the session work in an open notebook. */
  onAttach?: () => void;
  onDetach?: () => void;
  /** The endpoint that answers in this session, as far as it is known. */
  endpoint?: EndpointInfo | undefined;
  /** A session that works for this one waits for an answer. */
  workerAsks?: boolean;
  /** The session that this one works for. */
  parent?: SessionSummary | undefined;
  onOpenParent?: (() => void) | undefined;
  /** Shows what the session may do. */
  onPermissions?: () => void;
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
        {props.onPermissions && (
          <IconButton
            icon="shield"
            label={`${PERMISSIONS.title}: ${sandboxWords(view).label.toLowerCase()}`}
            onClick={props.onPermissions}
          />
        )}
        <IconButton
          icon="notebook"
          label="Open run notebook"
          disabled={!hasRecord}
          onClick={props.onOpenRecord}
        />
      </div>
      <div className="jp-Pernix-headLine jp-Pernix-stateLine">
        <StateWords view={view} workerAsks={props.workerAsks === true} />
        <span className="jp-Pernix-dim" title={`Works in the folder ${view.space_root || '/'}`}>
          {view.space_root || 'top folder'}
        </span>
        <KernelSelect {...props} />
        {view.place === 'own' && view.notebook === null && props.onAttach && (
          <IconButton
            icon="attach"
            label={NOTEBOOK.attach}
            disabled={view.state !== 'idle_ready'}
            onClick={props.onAttach}
          />
        )}
      </div>
      {view.notebook !== null && <Attached {...props} notebook={view.notebook} />}
      {view.parent !== null && (
        <div className="jp-Pernix-headLine jp-Pernix-dim">
          Works for{' '}
          <button type="button" className="jp-Pernix-link" onClick={props.onOpenParent}>
            {props.parent === undefined ? 'another session' : titleOf(props.parent)}
          </button>
        </div>
      )}
      {talksOnly(view, props.endpoint) && (
        <div className="jp-Pernix-ribbon" role="note" aria-label="Chat only">
          Chat only: this model can answer, but it cannot read, run or change anything here. Choose another
          model for that, or test it again under Models.
        </div>
      )}
      {view.endpoint === 'tour' && (
        <div className="jp-Pernix-ribbon" role="note">
          Recorded tour — not a model. The files, the kernel and the results are real; what is said was
          recorded.
        </div>
      )}
    </div>
  );
}

/** Whether the model can only answer: as its test found, else as it was driven last. */
function talksOnly(view: SessionView, endpoint: EndpointInfo | undefined): boolean {
  const last = view.turns.findLast(turn => turn.started_at !== null);
  const driven = last !== undefined && last.model === endpoint?.model ? last.protocol : null;
  return (endpoint?.protocol ?? driven) === 'chat';
}

/** One of the ten states, and since when. */
function StateWords(props: { view: SessionView; workerAsks: boolean }): React.JSX.Element {
  const { view } = props;
  const workerAsks = props.workerAsks && view.state === 'awaiting_workers';
  const tone = workerAsks ? 'asks' : STATES[view.state].tone;
  const { waiting, state_since: since } = view;
  const now = useNow(tone !== 'rest' || waiting !== null);
  const used = view.turns.length > 0;
  const time =
    waiting !== null
      ? `, ${secondsLeft(waiting, now)} s left`
      : tone !== 'rest'
        ? ` for ${duration(Math.floor(secondsBetween(since, now)) || 1)}`
        : since !== null && used
          ? ` since ${clockTime(since)}`
          : '';
  return (
    <span
      className="jp-Pernix-state"
      data-state={view.state}
      title={since === null ? undefined : `Since ${new Date(since).toLocaleString()}`}
    >
      <span className={`jp-Pernix-dot jp-mod-${tone}`} aria-hidden="true" />
      {workerAsks ? 'A worker needs you' : stateWords(view)}
      {time}
    </span>
  );
}

function KernelSelect(props: SessionHeadProps): React.JSX.Element | null {
  const { view, kernels, onKernel } = props;
  const own = view.kernel_name;
  if (view.notebook !== null) {
    return null;
  }
  if (view.place === 'in_cell') {
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

/** The notebook that the session works in, and its kernel. */
function Attached(props: SessionHeadProps & { notebook: NotebookView }): React.JSX.Element {
  const { notebook, view, kernels, onOpenNotebook, onDetach } = props;
  return (
    <div className="jp-Pernix-headLine jp-Pernix-attached" role="group" aria-label={NOTEBOOK.works}>
      <button
        type="button"
        className="jp-Pernix-chip jp-mod-button"
        title={`${NOTEBOOK.works}: ${plain(notebook.path)}`}
        onClick={() => onOpenNotebook?.(notebook.path)}
      >
        <Icon name="notebook" />
        <span className="jp-Pernix-chipText">{baseName(notebook.path)}</span>
      </button>
      <span className="jp-Pernix-dim">
        {kernels.get(notebook.kernel_name) ?? plain(notebook.kernel_name)}
      </span>
      {onDetach && (
        <IconButton
          icon="close"
          label={NOTEBOOK.detach}
          disabled={view.state !== 'idle_ready'}
          onClick={onDetach}
        />
      )}
    </div>
  );
}
