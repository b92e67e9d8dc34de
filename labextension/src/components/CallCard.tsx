import * as React from 'react';
import type { CallView, JSONObject, JSONValue } from '../api/types.gen';
import { Approval, type ApprovalProps } from './Approval';
import { Diff } from './Diff';
import { useNow } from './hooks';
import { Icon, type IconName } from './icons';
import { useRenderers } from './renderers';
import { Worker } from './Worker';
import { duration, plain, secondsBetween, sentence, STATUSES } from './words';

export interface CallCardProps {
  call: CallView;
  onAnswer?: ApprovalProps['onAnswer'];
  /** Opens a file by its path below the server's root. */
  onOpenFile?: (path: string) => void;
  /** Gets the text of a side file by its name. */
  onReadSideFile?: (name: string) => Promise<string>;
}

const ICONS: Record<CallView['kind'], IconName> = {
  read: 'eye',
  edit: 'edit',
  delete: 'close',
  move: 'insert',
  search: 'search',
  execute: 'code',
  fetch: 'down',
  think: 'think',
  other: 'other'
};

function iconOf(call: CallView): IconName {
  return call.status === 'unknown' ? 'question' : call.worker !== null ? 'team' : ICONS[call.kind];
}

/** Cards that a reader wants to see into without asking for it. */
function opensByItself(call: CallView): boolean {
  const asked = call.approval !== null && call.approval.choice === null;
  return (
    asked ||
    call.status === 'failed' ||
    call.status === 'unknown' ||
    call.worker !== null ||
    call.execution !== null ||
    call.files.length > 0 ||
    call.tool === 'run_shell'
  );
}

/** Who kept a call from being done, in a word; '' when nobody did. */
function refused(call: CallView): string {
  if (call.approval?.choice?.startsWith('reject')) {
    return 'Rejected';
  }
  return call.verdict === 'refuse' ? 'Refused' : '';
}

/** What was not wanted has not gone wrong. */
function look(call: CallView): CallView['status'] {
  return call.status === 'failed' && refused(call) !== '' ? 'cancelled' : call.status;
}

/** One tool call: what, arguments, state, time, result. */
export const CallCard = React.memo(function CallCard(props: CallCardProps): React.JSX.Element {
  const { call } = props;
  const [chosen, setChosen] = React.useState<boolean | null>(null);
  const bodyId = React.useId();
  const open = chosen ?? opensByItself(call);
  const title = plain(call.title || call.tool);
  return (
    <div
      className={`jp-Pernix-call jp-mod-${look(call)}`}
      role="group"
      aria-label={title}
      data-tool={call.tool}
      data-status={call.status}
    >
      <button
        type="button"
        className="jp-Pernix-callHead"
        aria-expanded={open}
        aria-controls={bodyId}
        onClick={() => setChosen(!open)}
      >
        <Icon name={iconOf(call)} />
        <span className="jp-Pernix-callTitle" title={title}>
          {title}
        </span>
        <CallState call={call} />
        <span className={open ? 'jp-Pernix-fold jp-mod-open' : 'jp-Pernix-fold'}>
          <Icon name="chevron" />
        </span>
      </button>
      <div id={bodyId} className="jp-Pernix-callBody" hidden={!open}>
        {open && <CallBody {...props} />}
      </div>
    </div>
  );
});

function CallState(props: { call: CallView }): React.JSX.Element {
  const { call } = props;
  const asked = call.approval !== null && call.approval.choice === null;
  const running = call.status === 'in_progress';
  const now = useNow(running);
  const seconds = running ? Math.floor(secondsBetween(call.requested_at, now)) || 1 : (call.duration ?? 0);
  const words = asked ? 'Needs you' : refused(call) || STATUSES[call.status];
  return (
    <span className="jp-Pernix-callState">
      <span className={`jp-Pernix-chip jp-mod-${asked ? 'asks' : look(call)}`}>{words}</span>
      {(running || call.duration !== null) && <span className="jp-Pernix-dim">{duration(seconds)}</span>}
    </span>
  );
}

function CallBody(props: CallCardProps): React.JSX.Element {
  const { call, onAnswer, onOpenFile } = props;
  const { Outputs } = useRenderers();
  const { execution } = call;
  return (
    <>
      {call.worker === null ? <Arguments call={call} /> : <Worker worker={call.worker} />}
      {call.status === 'unknown' && (
        <div className="jp-Pernix-note" role="note">
          The server ended while this was running. Whether it had its effect is not known; it is not run again
          by itself.
        </div>
      )}
      {call.approval !== null && onAnswer && (
        <Approval approval={call.approval} shown={codeOf(call)} onAnswer={onAnswer} />
      )}
      {execution?.ename && (
        <div className="jp-Pernix-error">
          <strong>{plain(execution.ename)}</strong>
          {execution.evalue && `: ${plain(execution.evalue)}`}
        </div>
      )}
      {execution !== null && execution.outputs.length > 0 && (
        <div className="jp-Pernix-outputs" role="group" aria-label="Outputs" tabIndex={0}>
          <Outputs outputs={execution.outputs} />
        </div>
      )}
      {execution?.detail && <div className="jp-Pernix-note">{sentence(execution.detail)}</div>}
      {call.files.map((change, index) => (
        <Diff key={index} change={change} onOpen={onOpenFile} />
      ))}
      {call.verdict === 'refuse' && (
        <div className="jp-Pernix-note">Refused{call.rule && `: ${plain(call.rule)}`}</div>
      )}
      <Result {...props} />
    </>
  );
}

function text(value: JSONValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

function codeOf(call: CallView): string {
  return call.execution?.code ?? text(call.arguments[call.tool === 'run_shell' ? 'command' : 'code']);
}

function Arguments(props: { call: CallView }): React.JSX.Element | null {
  const { call } = props;
  const { Code } = useRenderers();
  if (call.tool === 'run_code' || call.tool === 'run_shell') {
    return <Code text={codeOf(call)} language={call.tool === 'run_code' ? 'python' : 'shell'} />;
  }
  if (call.files.length > 0) {
    return null;
  }
  return <ArgumentTable values={call.arguments} />;
}

function ArgumentTable(props: { values: JSONObject }): React.JSX.Element | null {
  const entries = Object.entries(props.values).filter(([, value]) => value !== null && value !== '');
  if (entries.length === 0) {
    return null;
  }
  return (
    <dl className="jp-Pernix-arguments">
      {entries.map(([name, value]) => (
        <React.Fragment key={name}>
          <dt>{plain(name)}</dt>
          <dd>
            <pre className="jp-Pernix-plain">{typeof value === 'string' ? value : JSON.stringify(value)}</pre>
          </dd>
        </React.Fragment>
      ))}
    </dl>
  );
}

/** Whether the result is a sentence about what was not done, rather than what something printed. */
function isProse(call: CallView): boolean {
  return call.status === 'failed' && (call.tool !== 'run_shell' || refused(call) !== '');
}

/** What the model read: in sight when it is all there is to see, else folded. */
function Result(props: CallCardProps): React.JSX.Element | null {
  const { call, onReadSideFile } = props;
  const { Outputs } = useRenderers();
  const [full, setFull] = React.useState<string | null>(null);
  if (!call.result && !call.side_file) {
    return null;
  }
  const output: JSONObject = { output_type: 'stream', name: 'stdout', text: full ?? call.result };
  const name = call.side_file.split('/').pop() ?? '';
  const body = (
    <div
      className={isProse(call) ? 'jp-Pernix-result jp-mod-prose' : 'jp-Pernix-result'}
      role="group"
      aria-label="Result"
      tabIndex={0}
    >
      <Outputs outputs={[output]} />
      {name && full === null && onReadSideFile && (
        <button
          type="button"
          className="jp-Pernix-link"
          onClick={() => {
            onReadSideFile(name).then(setFull, error =>
              setFull(`The full text could not be read: ${String(error)}`)
            );
          }}
        >
          Show the full text
        </button>
      )}
    </div>
  );
  const shown = call.execution !== null || call.files.length > 0 || call.worker !== null;
  return shown ? <Folded label="What the model read">{body}</Folded> : body;
}

function Folded(props: { label: string; children: React.ReactNode }): React.JSX.Element {
  const [open, setOpen] = React.useState(false);
  return (
    <details className="jp-Pernix-folded" onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>{props.label}</summary>
      {open && props.children}
    </details>
  );
}
