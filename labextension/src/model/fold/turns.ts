/** Turns, and what is said in them. */
import type { SessionView, Stored, TurnView } from '../../api/types.gen';
import { newCall } from './calls';
import { hasTurn, inTurn, notice, withItem } from './places';

export type TurnEvent = Extract<
  Stored,
  {
    type:
      | 'turn.submitted'
      | 'turn.started'
      | 'turn.edited'
      | 'turn.resumed'
      | 'turn.finished'
      | 'plan.updated'
      | 'instructions.read'
      | 'turn.context_added'
      | 'message.completed'
      | 'thought.completed'
      | 'tool_call.requested'
      | 'files.kept'
      | 'widgets.saved';
  }
>;

export function applyTurn(view: SessionView, event: TurnEvent): SessionView {
  switch (event.type) {
    case 'turn.submitted':
      return { ...view, turns: [...view.turns, newTurn(event)] };
    case 'turn.started':
      return hasTurn(view, event.turn_id)
        ? { ...inTurn(view, event.turn_id, turn => begun(turn, event)), context_length: event.context_length }
        : view;
    case 'turn.finished':
      return inTurn(view, event.turn_id, turn => ({
        ...turn,
        finished_at: event.recorded_at,
        code: event.code,
        detail: event.detail,
        usage: event.usage,
        cost: event.cost
      }));
    case 'turn.edited':
      return inTurn(view, event.turn_id, turn => ({ ...turn, text: event.text }));
    case 'turn.resumed':
      return withItem(view, event.turn_id, notice('resumed', event.text));
    case 'plan.updated':
      return inTurn(view, event.turn_id, turn => ({ ...turn, plan: event.plan }));
    case 'instructions.read':
      return event.text || !event.digest
        ? withItem(
            view,
            event.turn_id,
            notice('instructions', `${event.name} ${event.digest ? 'changed' : 'is gone'}.`)
          )
        : view;
    case 'turn.context_added':
      return inTurn(view, event.turn_id, turn => ({ ...turn, context: [...turn.context, event.item] }));
    case 'files.kept':
      return inTurn(view, event.turn_id, turn => ({ ...turn, kept: turn.kept ?? event.how }));
    case 'message.completed':
      return withItem(view, event.turn_id, {
        type: 'message',
        step_id: event.step_id,
        text: event.text,
        corrections: event.corrections
      });
    case 'thought.completed':
      return withItem(view, event.turn_id, { type: 'thought', step_id: event.step_id, text: event.text });
    case 'tool_call.requested':
      return withItem(view, event.turn_id, newCall(event));
    case 'widgets.saved':
      return hasTurn(view, event.turn_id) ? { ...view, widgets: { ...view.widgets, ...event.models } } : view;
  }
}

function newTurn(event: Extract<Stored, { type: 'turn.submitted' }>): TurnView {
  return {
    turn_id: event.turn_id,
    text: event.text,
    origin: event.origin,
    submitted_at: event.recorded_at,
    started_at: null,
    finished_at: null,
    mode: null,
    model: '',
    budget: null,
    protocol: null,
    code: null,
    detail: '',
    usage: null,
    cost: null,
    plan: null,
    mentions: event.mentions,
    context: [],
    kept: null,
    items: [],
    steps: []
  };
}

function begun(turn: TurnView, event: Extract<Stored, { type: 'turn.started' }>): TurnView {
  return {
    ...turn,
    started_at: event.recorded_at,
    mode: event.mode,
    model: event.model,
    budget: event.budget,
    protocol: event.protocol
  };
}
