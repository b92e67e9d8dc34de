import * as React from 'react';
import type { CallView, HookView, JSONObject, JSONValue } from '../api/types.gen';
import { executionsOf } from '../model/reduce';
import { Approval, type ApprovalProps } from './Approval';
import { CellChange, type CellChangeHandlers } from './CellChange';
import { Diff } from './Diff';
import { Execution, languageOf, type ExecutionHandlers } from './Execution';
import { Folded } from './Folded';
import { hookWords, refusalWords, UNDO } from './gatewords';
import { useNow } from './hooks';
import { Icon, type IconName } from './icons';
import { Pictures } from './Pictures';
import { useRenderers } from './renderers';
import { Worker } from './Worker';
import { callTitle, duration, picturesWords, plain, secondsBetween, sentence, STATUSES } from './words';

export interface CallCardProps extends ExecutionHandlers, CellChangeHandlers {
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

/** Whether a person is waited for. */
function asks(call: CallView): boolean {
  return (
    (call.approval !== null && call.approval.choice === null) ||
    executionsOf(call).some(({ status, inputs }) => status === null && inputs.some(input => input.by === ''))
  );
}

/** Cards that a reader wants to see into without asking for it. */
function opensByItself(call: CallView): boolean {
  return (
    asks(call) ||
    call.status === 'failed' ||
    call.status === 'unknown' ||
    call.worker !== null ||
    call.execution !== null ||
    call.files.length > 0 ||
    call.cells.length > 0 ||
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
  const asked = asks(call);
  // A question is in sight even on a card that was folded before.
  React.useLayoutEffect(() => setChosen(null), [asked]);
  const open = chosen ?? opensByItself(call);
  const title = callTitle(call);
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
  const asked = asks(call);
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
  const { call, onAnswer, onOpenFile, onInput, onDecide, onOpenNotebook } = props;
  const executions = executionsOf(call);
  // The question shows the code itself, wrapped and with nothing hidden in it.
  const asking = onAnswer !== undefined && call.approval?.choice === null && call.approval.detail !== '';
  return (
    <>
      {call.worker === null ? (
        !(asking && SHOWS_CODE.has(call.tool)) && (
          <div className="jp-Pernix-about">
            <Arguments call={call} />
          </div>
        )
      ) : (
        <Worker worker={call.worker} />
      )}
      {call.status === 'unknown' && (
        <div className="jp-Pernix-note" role="note">
          The server ended while this was running. Whether it had its effect is not known; it is not run again
          by itself.
        </div>
      )}
      {call.approval !== null && onAnswer && <Approval approval={call.approval} onAnswer={onAnswer} />}
      {executions.map(execution => (
        <Execution
          key={execution.execution_id}
          execution={execution}
          showCode={!SHOWS_CODE.has(call.tool)}
          settled={call.status !== 'in_progress'}
          onInput={onInput}
          onOpenNotebook={onOpenNotebook}
        />
      ))}
      {call.cells.map(cell => (
        <CellChange
          key={cell.change.change_id}
          cell={cell}
          onDecide={onDecide}
          onOpenNotebook={onOpenNotebook}
        />
      ))}
      {call.files.map((change, index) => (
        <Diff
          key={index}
          change={change}
          restored={call.restored.includes(change.path)}
          onOpen={onOpenFile}
        />
      ))}
      <RestoredOnly call={call} />
      {call.verdict === 'refuse' && <div className="jp-Pernix-note">{refusalWords(call)}</div>}
      <Hooks hooks={call.hooks} />
      {call.pictures.length > 0 && (
        <Folded label={picturesWords(call.pictures.length)}>
          <Pictures pictures={call.pictures} />
        </Folded>
      )}
      <Result {...props} />
    </>
  );
}

/** Files that the call changed by a command or a cell, and that were put back: no diff shows them. */
function RestoredOnly(props: { call: CallView }): React.JSX.Element | null {
  const { files, restored } = props.call;
  const others = restored.filter(path => !files.some(file => file.path === path));
  return others.length === 0 ? null : (
    <div className="jp-Pernix-note">
      {sentence(UNDO.undone)}: {others.map(plain).join(', ')}
    </div>
  );
}

/** What hooks said, where they said more than nothing. */
function Hooks(props: { hooks: readonly HookView[] }): React.JSX.Element | null {
  const said = props.hooks.filter(hook => hook.decision !== 'allow' || hook.reason !== '');
  return said.length === 0 ? null : (
    <>
      {said.map((hook, index) => (
        <div key={index} className="jp-Pernix-note" role="note" title={plain(hook.command)}>
          {hookWords(hook)}
        </div>
      ))}
    </>
  );
}

function text(value: JSONValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

function codeOf(call: CallView): string {
  return call.execution?.code ?? text(call.arguments[call.tool === 'run_shell' ? 'command' : 'code']);
}

/** Tools whose card begins with the code, which stands in their arguments. */
const SHOWS_CODE: ReadonlySet<string> = new Set(['run_code', 'run_shell']);

function Arguments(props: { call: CallView }): React.JSX.Element | null {
  const { call } = props;
  const { Code } = useRenderers();
  if (SHOWS_CODE.has(call.tool)) {
    const kernel = call.execution?.kernel_name ?? '';
    return <Code text={codeOf(call)} language={call.tool === 'run_code' ? languageOf(kernel) : 'shell'} />;
  }
  if (call.files.length > 0 || call.cells.length > 0 || call.execution !== null) {
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
  const shown =
    call.execution !== null ||
    call.files.length > 0 ||
    call.cells.length > 0 ||
    call.worker !== null ||
    // Why it was refused stands above it, in words for the user.
    call.verdict === 'refuse';
  return shown ? <Folded label="What the model read">{body}</Folded> : body;
}
