import { readFileSync } from 'fs';
import { join } from 'path';
import type { Budget, SessionView } from '../api/types.gen';
import { budgetLeft } from './budget';

const { view: LONG }: { view: SessionView } = JSON.parse(
  readFileSync(join(__dirname, '../../../tests/cases/logs/long_life.json'), 'utf-8')
);
const NONE: Budget = { rounds: null, tokens: null, seconds: null, cost: null, changed_lines: null };

function running(budget: Budget): SessionView {
  const turns = LONG.turns.slice(0, 1).map(turn => ({ ...turn, code: null, budget }));
  return { ...LONG, turns, budget: null };
}

it('without limits nothing is said', () => {
  expect(budgetLeft({ ...LONG, budget: NONE })).toEqual([]);
  expect(budgetLeft({ ...LONG, budget: null })).toEqual([]);
});

it("the session's limits count what its turns, its workers and the requests between turns used", () => {
  const spent = (LONG.usage.prompt_tokens ?? 0) + (LONG.usage.completion_tokens ?? 0);
  const left = budgetLeft({ ...LONG, budget: { ...NONE, tokens: 10_000, cost: 2.5, changed_lines: 3 } });
  expect(left).toEqual([
    { of: 'session', what: 'tokens', limit: 10_000, left: 10_000 - spent - 900 },
    { of: 'session', what: 'cost', limit: 2.5, left: 2.5 - (LONG.cost ?? 0) - 0.25 },
    { of: 'session', what: 'changed_lines', limit: 3, left: 0 }
  ]);
});

it('the steps of the turn that runs are told when few are left, its worker counted', () => {
  expect(budgetLeft(running({ ...NONE, rounds: 60 }))).toEqual([]);
  expect(budgetLeft(running({ ...NONE, rounds: 5 }))).toEqual([
    { of: 'turn', what: 'rounds', limit: 5, left: 1 }
  ]);
});
