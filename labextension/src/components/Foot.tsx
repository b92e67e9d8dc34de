import * as React from 'react';
import type { ChangeDecision, TurnView } from '../api/types.gen';
import type { Left, Limit } from '../model/budget';
import { KeepOrUndo } from './CellChange';
import { FilesChanged, type FilesHandlers } from './FilesChanged';
import { Icon } from './icons';
import {
  CAN_GO_ON,
  CHANGES,
  clockTime,
  costWords,
  count,
  duration,
  endWords,
  money,
  openChangesWords,
  prefixWords,
  secondsBetween,
  usageWords
} from './words';

export interface FootProps extends FilesHandlers {
  turn: TurnView;
  onResume: (() => void) | undefined;
  /** Keeps or undoes all changes of cells of a turn that are open; true when that is carried out. */
  onDecideAll?: ((turnId: string, decision: ChangeDecision) => Promise<boolean>) | undefined;
}

/** How a turn ended and what it took. */
export function Foot(props: FootProps): React.JSX.Element | null {
  const { turn, onResume, onDecideAll } = props;
  const { code } = turn;
  if (code === null) {
    return null;
  }
  const said = turn.items.some(item => item.type === 'problem' && item.text === turn.detail);
  const open = turn.items.reduce(
    (sum, item) =>
      item.type === 'call' ? sum + item.cells.filter(({ status }) => status === 'made').length : sum,
    0
  );
  const detail = code === 'answered' || said || turn.started_at === null ? '' : turn.detail;
  return (
    <footer className={`jp-Pernix-foot jp-mod-${code}`} tabIndex={-1}>
      <span className="jp-Pernix-code">
        {code === 'answered' && <Icon name="check" />}
        {endWords(turn)}
        {detail && `: ${detail}`}
      </span>
      <span className="jp-Pernix-facts">
        {facts(turn).map(([words, means], index) => (
          <React.Fragment key={means}>
            {index > 0 && ' · '}
            <span title={means}>{words}</span>
          </React.Fragment>
        ))}
      </span>
      {onResume && CAN_GO_ON.has(code) && (
        <button type="button" className="jp-Pernix-button" onClick={onResume}>
          Go on
        </button>
      )}
      {onDecideAll && open > 0 && (
        <span className="jp-Pernix-openChanges">
          {openChangesWords(open)}
          <KeepOrUndo
            keep={CHANGES.keepAll}
            undo={CHANGES.undoAll}
            onDecide={decision => onDecideAll(turn.turn_id, decision)}
          />
        </span>
      )}
      <FilesChanged turn={turn} onFiles={props.onFiles} onUndo={props.onUndo} onOpenFile={props.onOpenFile} />
    </footer>
  );
}

/** What is known of a turn that began, each with what it means. */
function facts(turn: TurnView): [words: string, means: string][] {
  const steps = turn.steps.filter(step => step.purpose === 'act').length;
  const all: [string, string][] = [
    [turn.started_at === null ? '' : duration(secondsBetween(turn.started_at, turn.finished_at)), 'Time'],
    [steps === 0 ? '' : steps === 1 ? '1 step' : `${steps} steps`, 'Requests to the model'],
    [turn.usage === null ? '' : usageWords(turn.usage), 'Tokens that the endpoint read and wrote'],
    [prefixWords(turn.steps), 'Part of each request that repeated the one before'],
    [
      steps === 0 ? '' : costWords(turn.cost),
      turn.cost === null ? 'No price is configured for this model' : 'In the currency of the configured price'
    ],
    [turn.model, 'Model'],
    [turn.finished_at === null ? '' : clockTime(turn.finished_at), 'Ended at']
  ];
  return all.filter(([words]) => words !== '');
}

const LIMITS: Record<Limit, (left: Left) => string> = {
  rounds: ({ left, limit }) => `${left} of ${limit} steps`,
  tokens: ({ left, limit }) => `${count(left)} of ${count(limit)} tokens`,
  cost: ({ left, limit }) => `${money(left)} of ${money(limit)} in cost`,
  changed_lines: ({ left, limit }) => `${left} of ${limit} changed lines`
};

/** What is left of the limits that hold. */
export function BudgetLine(props: { left: readonly Left[] }): React.JSX.Element | null {
  const of = (whose: Left['of']) =>
    props.left
      .filter(entry => entry.of === whose)
      .map(entry => LIMITS[entry.what](entry))
      .join(', ');
  const said = [
    of('session') && `Left in this session: ${of('session')}`,
    of('turn') && `Left in this turn: ${of('turn')}`
  ].filter(words => words !== '');
  if (said.length === 0) {
    return null;
  }
  return (
    <div className="jp-Pernix-budget" role="note" aria-label="Budget">
      {said.map(words => (
        <div key={words}>{words}</div>
      ))}
    </div>
  );
}
