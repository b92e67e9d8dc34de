import * as React from 'react';
import type { CellChangeView, ChangeDecision } from '../api/types.gen';
import { excerpt, lineDiff, type DiffLine } from '../notebook/source';
import { NotebookLink } from './Execution';
import { Folded } from './Folded';
import {
  CHANGE_OPS,
  CHANGE_STATUSES,
  CHANGES,
  firstLine,
  OWNERS,
  placeWords,
  plain,
  sentence
} from './words';

export interface CellChangeHandlers {
  /** True when the decision is carried out. */
  onDecide?: ((changeId: string, decision: ChangeDecision) => Promise<boolean>) | undefined;
  onOpenNotebook?: ((path: string) => void) | undefined;
}

/** One change of a cell: as a diff, with what became of it, and with keep and undo while nobody has decided. */
export const CellChange = React.memo(function CellChange(
  props: CellChangeHandlers & { cell: CellChangeView }
): React.JSX.Element {
  const { cell, onDecide, onOpenNotebook } = props;
  const { change, status, owner, detail } = cell;
  const lines = React.useMemo(
    () => lineDiff(change.before?.source ?? '', change.after?.source ?? ''),
    [change]
  );
  const line = firstLine((change.before ?? change.after)?.source ?? '');
  const what = line === '' ? CHANGE_OPS[change.op] : `${CHANGE_OPS[change.op]}: ${line}`;
  const decidable = status === 'made' && onDecide !== undefined;
  const open = status === 'made' || status === 'requested';
  return (
    <div
      className="jp-Pernix-diff jp-Pernix-cellChange"
      role="group"
      aria-label={what}
      data-status={status}
      tabIndex={-1}
    >
      <div className="jp-Pernix-diffHead">
        <span title={owner === null ? undefined : sentence(OWNERS[owner])}>{what}</span>
        <NotebookLink path={change.path} onOpen={onOpenNotebook} />
        {!decidable && <span className={`jp-Pernix-chip jp-mod-${status}`}>{CHANGE_STATUSES[status]}</span>}
        <Counts lines={lines} />
        {decidable && (
          <KeepOrUndo
            keep={CHANGES.keep}
            undo={CHANGES.undo}
            onDecide={decision => onDecide(change.change_id, decision)}
          />
        )}
      </div>
      {detail && <div className="jp-Pernix-note">{sentence(plain(detail))}</div>}
      {change.op === 'move' && (
        <div className="jp-Pernix-note">
          {sentence(placeWords(change.was_behind))} → {placeWords(change.behind)}
        </div>
      )}
      {change.op !== 'move' &&
        (open ? (
          <Lines lines={lines} />
        ) : (
          <Folded label={CHANGES.diff}>
            <Lines lines={lines} />
          </Folded>
        ))}
    </div>
  );
});

function Counts(props: { lines: readonly DiffLine[] }): React.JSX.Element {
  const count = (tone: DiffLine['tone']) => props.lines.filter(line => line.tone === tone).length;
  const [added, removed] = [count('added'), count('removed')];
  return (
    <>
      {added > 0 && <span className="jp-Pernix-added">+{added}</span>}
      {removed > 0 && <span className="jp-Pernix-removed">−{removed}</span>}
    </>
  );
}

const SIGNS: Record<DiffLine['tone'], string> = { same: ' ', added: '+', removed: '-' };

function Lines(props: { lines: readonly DiffLine[] }): React.JSX.Element | null {
  const { lines } = props;
  if (lines.length === 0) {
    return null;
  }
  return (
    <pre className="jp-Pernix-diffBody" tabIndex={0}>
      {excerpt(lines).map((line, index) =>
        line === null ? (
          <span key={index} className="jp-Pernix-diffLine jp-mod-place">
            {CHANGES.left}
            {'\n'}
          </span>
        ) : (
          <span key={index} className={`jp-Pernix-diffLine jp-mod-${line.tone}`}>
            {SIGNS[line.tone]}
            <Marked line={line} />
            {'\n'}
          </span>
        )
      )}
    </pre>
  );
}

/** A line with what differs in it from its counterpart. */
function Marked(props: { line: DiffLine }): React.JSX.Element {
  const { text, marked } = props.line;
  if (marked === undefined) {
    return <>{text}</>;
  }
  const [from, to] = marked;
  return (
    <>
      {text.slice(0, from)}
      <span className="jp-Pernix-marked">{text.slice(from, to)}</span>
      {text.slice(to)}
    </>
  );
}

/** Two buttons that go away when one of them was used; whoever used it by keyboard goes on from what stands around them. */
export function KeepOrUndo(props: {
  keep: string;
  undo: string;
  onDecide: (decision: ChangeDecision) => Promise<boolean>;
}): React.JSX.Element {
  const { keep, undo, onDecide } = props;
  const [sending, setSending] = React.useState(false);
  const box = React.useRef<HTMLSpanElement>(null);
  React.useLayoutEffect(() => {
    const node = box.current;
    return () => {
      if (node?.contains(document.activeElement)) {
        node.closest<HTMLElement>('[tabindex="-1"]')?.focus({ preventScroll: true });
      }
    };
  }, []);
  const decide = async (decision: ChangeDecision) => {
    if (sending) {
      return;
    }
    setSending(true);
    await onDecide(decision);
    setSending(false);
  };
  return (
    <span className="jp-Pernix-decide" ref={box}>
      <button
        type="button"
        className="jp-Pernix-button"
        title={CHANGES.keepMeans}
        aria-disabled={sending}
        onClick={() => void decide('keep')}
      >
        {keep}
      </button>
      <button
        type="button"
        className="jp-Pernix-button"
        title={CHANGES.undoMeans}
        aria-disabled={sending}
        onClick={() => void decide('undo')}
      >
        {undo}
      </button>
    </span>
  );
}
