import * as React from 'react';
import type { CallView, SessionView } from '../api/types.gen';
import { executionsOf, openApprovals, openInputs } from '../model/reduce';
import { waitingWords } from './gatewords';
import { INPUT, plain } from './words';

/** A question that waits: its id on the page, and what it is about. */
export interface OpenQuestion {
  id: string;
  title: string;
}

/** What a session asks, oldest first: whether a call is allowed, and lines for running code. */
export function questionsOf(view: SessionView): OpenQuestion[] {
  const title = (call: CallView) => plain(call.title || call.tool);
  return [
    ...openApprovals(view).flatMap(call =>
      call.approval === null ? [] : { id: call.approval.approval_id, title: title(call) }
    ),
    ...openInputs(view)
      .flatMap(executionsOf)
      .flatMap(execution => execution.inputs.filter(input => input.by === ''))
      .map(input => ({ id: input.input_id, title: plain(input.prompt.trim()) || INPUT.asks }))
  ];
}

/** Bring a question into sight and give it the focus; false: it is not on the page. */
export function goToQuestion(page: HTMLElement, id: string): boolean {
  const found = [...page.querySelectorAll<HTMLElement>('[data-question]')].find(
    node => node.dataset.question === id
  );
  if (found === undefined) {
    return false;
  }
  found.scrollIntoView({ block: 'nearest' });
  found.focus({ preventScroll: true });
  return true;
}

/** Says how many questions wait, with a way to each. */
export function QuestionsLine(props: {
  questions: readonly OpenQuestion[];
  onGo: (id: string) => void;
}): React.JSX.Element | null {
  const { questions, onGo } = props;
  if (questions.length === 0) {
    return null;
  }
  return (
    <nav className="jp-Pernix-questions" aria-label="Open questions">
      <span>{waitingWords(questions.length)}</span>
      {questions.map(({ id, title }) => (
        <button key={id} type="button" className="jp-Pernix-link" onClick={() => onGo(id)}>
          {title}
        </button>
      ))}
    </nav>
  );
}
