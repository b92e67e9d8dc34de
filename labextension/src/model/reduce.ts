/**
 * What is: a session's log folded into a `SessionView`. Pure; the twin of `jupyter_pernix/fold.py`, tested on the same logs.
 *
 * Rule: an event whose `seq` is not above `last_seq` changes nothing, so a reader may reconnect with any `after`. What did not
 * change keeps its identity, so a screen redraws only what did.
 */
import {
  EVENT_TYPES,
  type CallView,
  type CellChangeView,
  type SessionView,
  type Stored,
  type UnknownEvent
} from '../api/types.gen';
import { applyCall } from './fold/calls';
import { applyCell } from './fold/cells';
import { applyExecution, executionsOf } from './fold/executions';
import { callsOf, inCall, lastBegun, notice, withItem } from './fold/places';
import { applyStep, compacted } from './fold/steps';
import { applyTurn } from './fold/turns';
import { applyUndo } from './fold/undos';

export { applyOutput, executionsOf } from './fold/executions';

export type AnyStored = Stored | UnknownEvent;

const KNOWN: ReadonlySet<string> = new Set(EVENT_TYPES);

export function isKnown(event: AnyStored): event is Stored {
  return KNOWN.has(event.type);
}

/** A session of which nothing is known yet. */
export function emptyView(sessionId: string): SessionView {
  return {
    session_id: sessionId,
    title: '',
    state: 'idle_ready',
    state_since: null,
    mode: 'edit',
    endpoint: null,
    kernel_name: '',
    place: 'own',
    space_root: '',
    record_path: '',
    archived: false,
    created_at: null,
    last_seq: 0,
    context_tokens: null,
    context_length: null,
    parent: null,
    sandbox: false,
    network: false,
    undos: [],
    budget: null,
    usage: { prompt_tokens: null, completion_tokens: null, cached_tokens: null },
    cost: null,
    waiting: null,
    notebook: null,
    turns: [],
    widgets: {}
  };
}

/** The view after one more event. */
export function reduce(view: SessionView, stored: AnyStored): SessionView {
  if (stored.seq <= view.last_seq) {
    return view;
  }
  const next = { ...view, last_seq: stored.seq };
  return isKnown(stored) ? applyEvent(next, stored) : next;
}

/** Fold many events. */
export function reduceAll(view: SessionView, log: readonly AnyStored[]): SessionView {
  return log.reduce(reduce, view);
}

function applyEvent(view: SessionView, event: Stored): SessionView {
  switch (event.type) {
    case 'session.created':
      return {
        ...view,
        title: event.title,
        mode: event.mode,
        endpoint: event.endpoint,
        kernel_name: event.kernel_name,
        place: event.place,
        space_root: event.space_root,
        record_path: event.record_path,
        budget: event.budget,
        parent: event.parent,
        sandbox: event.sandbox,
        network: event.network,
        created_at: event.recorded_at,
        state_since: event.recorded_at,
        state: 'idle_ready'
      };
    case 'session.renamed':
      return { ...view, title: event.title, record_path: event.record_path || view.record_path };
    case 'session.configured':
      return {
        ...view,
        mode: event.mode ?? view.mode,
        endpoint: event.endpoint ?? view.endpoint,
        kernel_name: event.kernel_name ?? view.kernel_name,
        budget: event.budget ?? view.budget,
        sandbox: event.sandbox ?? view.sandbox,
        network: event.network ?? view.network
      };
    case 'session.state_changed':
      return { ...view, state: event.after, state_since: event.recorded_at, waiting: null };
    case 'session.archived':
      return { ...view, archived: event.archived };
    case 'session.attached':
      return {
        ...view,
        place: 'attached',
        notebook: { path: event.path, kernel_id: event.kernel_id, kernel_name: event.kernel_name }
      };
    case 'session.detached':
      return { ...view, place: 'own', notebook: null };
    case 'kernel.restarted':
      return restarted(view, event);
    case 'step.started':
    case 'step.retry_scheduled':
    case 'step.fallback_taken':
    case 'step.finished':
      return applyStep(view, event);
    case 'context.compacted':
      return compacted(view, event);
    case 'execution.started':
    case 'execution.output':
    case 'execution.finished':
    case 'execution.mirrored':
    case 'input.requested':
    case 'input.answered':
      return applyExecution(view, event);
    case 'cell.change_requested':
    case 'cell.changed':
    case 'cell.change_refused':
    case 'cell.change_resolved':
      return applyCell(view, event);
    case 'tool_call.started':
    case 'tool_call.finished':
    case 'policy.decided':
    case 'file.changed':
    case 'hook.ended':
    case 'approval.requested':
    case 'approval.resolved':
    case 'worker.spawned':
    case 'worker.reported':
      return inCall(view, event.call_id, call => applyCall(call, event));
    case 'files.undo_requested':
    case 'file.restored':
    case 'file.restore_refused':
      return applyUndo(view, event);
    case 'problem.noticed':
      return event.turn_id === null
        ? view
        : withItem(view, event.turn_id, { type: 'problem', text: event.text, hint: event.hint });
    default:
      return applyTurn(view, event);
  }
}

/** Between turns a new kernel is told at the end of the last turn that began. */
function restarted(view: SessionView, event: Extract<Stored, { type: 'kernel.restarted' }>): SessionView {
  const turnId = event.turn_id ?? lastBegun(view)?.turn_id ?? null;
  return turnId === null ? view : withItem(view, turnId, notice('kernel', event.text));
}

/** The calls with a question that nobody has answered, oldest first. */
export function openApprovals(view: SessionView): CallView[] {
  return callsOf(view).filter(call => call.approval !== null && call.approval.choice === null);
}

/** The calls whose code waits for a line from the user, oldest first. */
export function openInputs(view: SessionView): CallView[] {
  return callsOf(view).filter(call =>
    executionsOf(call).some(execution => execution.inputs.some(input => input.by === ''))
  );
}

/** The changes of cells that were made and neither kept nor undone, oldest first. */
export function openChanges(view: SessionView): CellChangeView[] {
  return callsOf(view).flatMap(call => call.cells.filter(cell => cell.status === 'made'));
}
