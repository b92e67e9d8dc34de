/** Where in a view an event has its effect: one turn, step, call or execution is replaced, all else keeps its identity. */
import type { CallView, Item, NoticeView, SessionView, StepView, TurnView } from '../../api/types.gen';

export function notice(kind: NoticeView['kind'], text: string, hint = ''): NoticeView {
  return { type: 'notice', kind, text, hint };
}

export function hasTurn(view: SessionView, turnId: string): boolean {
  return view.turns.some(turn => turn.turn_id === turnId);
}

export function inTurn(view: SessionView, turnId: string, change: (turn: TurnView) => TurnView): SessionView {
  const at = view.turns.findLastIndex(turn => turn.turn_id === turnId);
  const turn = view.turns[at];
  return turn === undefined ? view : { ...view, turns: view.turns.with(at, change(turn)) };
}

export function withItem(view: SessionView, turnId: string, item: Item): SessionView {
  return inTurn(view, turnId, turn => ({ ...turn, items: [...turn.items, item] }));
}

export function stepOf(view: SessionView, turnId: string, stepId: string): StepView | undefined {
  const turn = view.turns.findLast(entry => entry.turn_id === turnId);
  return turn?.steps.findLast(step => step.step_id === stepId);
}

export function inStep(
  view: SessionView,
  turnId: string,
  stepId: string,
  change: (step: StepView) => StepView
): SessionView {
  return inTurn(view, turnId, turn => ({
    ...turn,
    steps: turn.steps.map(step => (step.step_id === stepId ? change(step) : step))
  }));
}

export function inCall(view: SessionView, callId: string, change: (call: CallView) => CallView): SessionView {
  return inCallWhere(view, call => call.call_id === callId, change);
}

/** Events follow their call closely, so the search begins at the end. */
export function inCallWhere(
  view: SessionView,
  test: (call: CallView) => boolean,
  change: (call: CallView) => CallView
): SessionView {
  for (let t = view.turns.length - 1; t >= 0; t--) {
    const turn = view.turns[t];
    const at = turn?.items.findLastIndex(item => item.type === 'call' && test(item)) ?? -1;
    const call = turn?.items[at];
    if (turn !== undefined && call?.type === 'call') {
      return {
        ...view,
        turns: view.turns.with(t, { ...turn, items: turn.items.with(at, change(call)) })
      };
    }
  }
  return view;
}

/** All calls of a session, oldest first. */
export function callsOf(view: SessionView): CallView[] {
  return view.turns.flatMap(turn => turn.items).filter(item => item.type === 'call');
}

/** The last turn that began: what happens between turns is told at its end. */
export function lastBegun(view: SessionView): TurnView | undefined {
  return view.turns.findLast(turn => turn.started_at !== null);
}
