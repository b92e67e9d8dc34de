import * as React from 'react';
import type { SessionView } from '../api/types.gen';
import { executionsOf, openApprovals, openInputs } from '../model/reduce';
import { endWords, INPUT, plain, STATES } from './words';

function words(view: SessionView, workerAsks: boolean): string {
  const open = openApprovals(view);
  const question = open[0]?.approval;
  if (question) {
    const why = question.why && ` (${plain(question.why)})`;
    const more = open.length > 1 ? `. ${open.length} questions wait.` : '';
    return `Needs you: ${plain(question.question)}${why}${more}`;
  }
  const line = openInputs(view)
    .flatMap(executionsOf)
    .flatMap(execution => execution.inputs)
    .find(input => input.by === '');
  if (line) {
    return `Needs you: ${line.password ? INPUT.asksPassword : INPUT.asks}: ${plain(line.prompt.trim())}`;
  }
  if (workerAsks && view.state === 'awaiting_workers') {
    return 'A worker needs you';
  }
  if (view.waiting !== null) {
    return plain(view.waiting.text);
  }
  if (view.state !== 'idle_ready') {
    return STATES[view.state].label;
  }
  const last = view.turns.findLast(turn => turn.started_at !== null);
  return (last && endWords(last)) || STATES.idle_ready.label;
}

/** Tells those who cannot see the screen what state the session is in, once for each change. */
export function Announcer(props: { view: SessionView; workerAsks?: boolean }): React.JSX.Element {
  return (
    <div className="jp-Pernix-announcer" role="log" aria-label="Session status" aria-live="polite">
      {words(props.view, props.workerAsks === true)}
    </div>
  );
}
