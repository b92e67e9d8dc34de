/** Requests to the model: steps, their waits and what they used; and the conversation made shorter. */
import type { SessionView, StepFinished, StepView, Stored, Usage } from '../../api/types.gen';
import { hasTurn, inStep, inTurn, lastBegun, notice, stepOf, withItem } from './places';

/** Whatever a step says next, its wait is over. */
function awaited(view: SessionView, stepId: string): SessionView {
  return view.waiting?.step_id === stepId ? { ...view, waiting: null } : view;
}

export type StepEvent = Extract<
  Stored,
  { type: 'step.started' | 'step.retry_scheduled' | 'step.fallback_taken' | 'step.finished' }
>;

/** Steps between turns (`turn_id` null) are shown nowhere; what they wait for and what they used is. */
export function applyStep(view: SessionView, event: StepEvent): SessionView {
  return event.turn_id === null || hasTurn(view, event.turn_id)
    ? stepped(awaited(view, event.step_id), event)
    : view;
}

function stepped(view: SessionView, event: StepEvent): SessionView {
  const { turn_id: turnId } = event;
  switch (event.type) {
    case 'step.started':
      return turnId === null
        ? view
        : inTurn(view, turnId, turn => ({ ...turn, steps: [...turn.steps, newStep(event)] }));
    case 'step.retry_scheduled': {
      const { step_id, text, seconds } = event;
      const next = { ...view, waiting: { step_id, text, since: event.recorded_at, seconds } };
      return turnId === null ? next : withItem(next, turnId, notice('retry', text, event.hint));
    }
    case 'step.fallback_taken': {
      const { endpoint, model } = event;
      return turnId === null
        ? view
        : withItem(
            inStep(view, turnId, event.step_id, step => ({ ...step, endpoint, model, role: 'backup' })),
            turnId,
            notice('fallback', event.text)
          );
    }
    case 'step.finished':
      return stepFinished(view, event);
  }
}

function newStep(event: Extract<Stored, { type: 'step.started' }>): StepView {
  return {
    step_id: event.step_id,
    index: event.index,
    endpoint: event.endpoint,
    model: event.model,
    role: event.role,
    purpose: event.purpose,
    started_at: event.recorded_at,
    usage: null,
    timings: null,
    prefix_share: null,
    cost: null,
    finish_reason: ''
  };
}

function stepFinished(view: SessionView, event: Stored<StepFinished>): SessionView {
  const { usage, turn_id: turnId } = event;
  const step = turnId === null ? undefined : stepOf(view, turnId, event.step_id);
  if (turnId !== null && step === undefined) {
    return view;
  }
  const counted = {
    ...view,
    usage: total(view.usage, usage),
    cost: event.cost === null ? view.cost : (view.cost ?? 0) + event.cost
  };
  if (turnId === null) {
    return counted;
  }
  const next = inStep(counted, turnId, event.step_id, old => ({
    ...old,
    usage,
    timings: event.timings,
    prefix_share: event.prefix_share,
    cost: event.cost,
    finish_reason: event.finish_reason
  }));
  return step?.purpose === 'act' && usage.prompt_tokens !== null
    ? { ...next, context_tokens: usage.prompt_tokens + (usage.completion_tokens ?? 0) }
    : next;
}

function plus(one: number | null, two: number | null): number | null {
  return one === null ? two : two === null ? one : one + two;
}

/** The sum; a number that neither side knows stays unknown. */
function total(one: Usage, two: Usage): Usage {
  return {
    prompt_tokens: plus(one.prompt_tokens, two.prompt_tokens),
    completion_tokens: plus(one.completion_tokens, two.completion_tokens),
    cached_tokens: plus(one.cached_tokens, two.cached_tokens)
  };
}

const grouped = (tokens: number) => tokens.toLocaleString('en-US');

/** Between turns it is told at the end of the last one that began. */
export function compacted(
  view: SessionView,
  event: Extract<Stored, { type: 'context.compacted' }>
): SessionView {
  const turnId = event.turn_id ?? lastBegun(view)?.turn_id ?? null;
  if (event.turn_id !== null && !hasTurn(view, event.turn_id)) {
    return view;
  }
  const next = { ...view, context_tokens: event.tokens_after };
  const text = `The conversation was made shorter: ${grouped(event.tokens_before)} → ${grouped(event.tokens_after)} tokens.`;
  return turnId === null ? next : withItem(next, turnId, notice('compaction', text, event.dropped));
}
