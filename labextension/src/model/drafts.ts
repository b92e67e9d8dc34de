/**
 * What is being written right now: deltas put together, step by step. Pure.
 *
 * A stored event replaces what its delta announced, so nothing is shown twice. Offsets count characters (code points) as Python
 * does, not UTF-16 units.
 */
import type { Delta } from '../api/types.gen';
import { isKnown, type AnyStored } from './reduce';

/** A text and its length in code points. */
export interface Draft {
  text: string;
  points: number;
}

export interface CallDraft extends Draft {
  tool: string;
}

/** The unfinished texts of one step. */
export interface StepDraft {
  turnId: string;
  stepId: string;
  message: Draft;
  thought: Draft;
  calls: readonly CallDraft[];
}

/** At most one step of a session is being written at a time. */
export type Drafts = StepDraft | null;

const NOTHING: Draft = { text: '', points: 0 };

function countPoints(text: string): number {
  let surrogates = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0xd800 && unit < 0xdc00) {
      surrogates++;
    }
  }
  return text.length - surrogates;
}

/** `text` put at `offset`; a piece that would leave a hole is dropped, since what is missing comes again with offset 0. */
export function write(draft: Draft, offset: number, text: string): Draft {
  if (offset > draft.points) {
    return draft;
  }
  const kept = offset === draft.points ? draft.text : Array.from(draft.text).slice(0, offset).join('');
  return { text: kept + text, points: offset + countPoints(text) };
}

export function applyDelta(drafts: Drafts, delta: Delta): Drafts {
  const step =
    drafts?.stepId === delta.step_id
      ? drafts
      : { turnId: delta.turn_id, stepId: delta.step_id, message: NOTHING, thought: NOTHING, calls: [] };
  switch (delta.type) {
    case 'message.delta':
      return { ...step, message: write(step.message, delta.offset, delta.text) };
    case 'thought.delta':
      return { ...step, thought: write(step.thought, delta.offset, delta.text) };
    case 'tool_call.delta': {
      const calls = [...step.calls];
      const old = calls[delta.index] ?? NOTHING;
      calls[delta.index] = { ...write(old, delta.offset, delta.text), tool: delta.tool };
      return { ...step, calls };
    }
  }
}

/** The drafts after a stored event. */
export function settle(drafts: Drafts, event: AnyStored): Drafts {
  if (drafts === null || !isKnown(event)) {
    return drafts;
  }
  switch (event.type) {
    case 'message.completed':
      return event.step_id === drafts.stepId ? { ...drafts, message: NOTHING } : drafts;
    case 'thought.completed':
      return event.step_id === drafts.stepId ? { ...drafts, thought: NOTHING } : drafts;
    case 'tool_call.requested':
      return event.step_id === drafts.stepId ? { ...drafts, calls: [] } : drafts;
    case 'step.finished':
      return event.step_id === drafts.stepId ? null : drafts;
    case 'turn.finished':
      return event.turn_id === drafts.turnId ? null : drafts;
    default:
      return drafts;
  }
}
