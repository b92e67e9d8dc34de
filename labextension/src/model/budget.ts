/** What is left of the limits that somebody set. Pure. */
import type { Budget, SessionView, TurnView, Usage } from '../api/types.gen';

export type Limit = 'rounds' | 'tokens' | 'cost' | 'changed_lines';

/** One limit: `left` of `limit`, never below 0. */
export interface Left {
  of: 'turn' | 'session';
  what: Limit;
  left: number;
  limit: number;
}

type Used = Record<Limit, number>;

function tokensOf(usage: Usage | null): number {
  return (usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0);
}

/** What a turn used so far, its workers too. */
function usedBy(turn: TurnView): Used {
  const used = { rounds: 0, tokens: 0, cost: 0, changed_lines: 0 };
  for (const step of turn.steps) {
    used.rounds += step.purpose === 'act' ? 1 : 0;
    used.tokens += tokensOf(step.usage);
    used.cost += step.cost ?? 0;
  }
  for (const item of turn.items) {
    if (item.type === 'call') {
      const spent = item.worker?.spent;
      used.rounds += spent?.rounds ?? 0;
      used.tokens += spent?.tokens ?? 0;
      used.cost += spent?.cost ?? 0;
      used.changed_lines += spent?.changed_lines ?? 0;
      for (const change of item.files) {
        used.changed_lines += change.added_lines + change.removed_lines;
      }
    }
  }
  return used;
}

/** What the session used: all its turns, and what was asked between them. */
function usedIn(view: SessionView): Used {
  const used = { rounds: 0, tokens: tokensOf(view.usage), cost: view.cost ?? 0, changed_lines: 0 };
  for (const turn of view.turns) {
    const own = usedBy(turn);
    used.rounds += own.rounds;
    used.changed_lines += own.changed_lines;
    for (const item of turn.items) {
      if (item.type === 'call' && item.worker !== null) {
        used.tokens += item.worker.spent.tokens;
        used.cost += item.worker.spent.cost ?? 0;
      }
    }
  }
  return used;
}

const LIMITS: readonly Limit[] = ['rounds', 'tokens', 'cost', 'changed_lines'];

function leftOf(of: Left['of'], budget: Budget | null, used: () => Used): Left[] {
  if (budget === null || LIMITS.every(what => budget[what] === null)) {
    return [];
  }
  const amounts = used();
  return LIMITS.flatMap(what => {
    const limit = budget[what];
    return limit === null ? [] : [{ of, what, limit, left: Math.max(0, limit - amounts[what]) }];
  });
}

/**
 * What is left, the session's limits first, then those of the turn that runs. The steps of a turn are always limited, so they are
 * told when few are left. Time is not: the host takes away what was waited for a person.
 */
export function budgetLeft(view: SessionView): Left[] {
  const turn = view.turns.find(entry => entry.started_at !== null && entry.code === null);
  const ofTurn = turn === undefined ? [] : leftOf('turn', turn.budget, () => usedBy(turn));
  return [
    ...leftOf('session', view.budget, () => usedIn(view)),
    ...ofTurn.filter(entry => entry.what !== 'rounds' || entry.left <= entry.limit / 5)
  ];
}
