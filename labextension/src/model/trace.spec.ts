import type { CallView, StepView, TurnView } from '../api/types.gen';
import { shares, ticks, traceOf } from './trace';

const START = Date.parse('2026-03-01T09:00:00Z');
const at = (seconds: number) => new Date(START + 1000 * seconds).toISOString();

const TURN: TurnView = {
  turn_id: 't',
  text: 'go',
  origin: 'panel',
  submitted_at: at(-1),
  started_at: at(0),
  finished_at: at(20),
  mode: 'edit',
  model: 'm',
  budget: null,
  protocol: null,
  code: 'answered',
  detail: '',
  usage: null,
  cost: null,
  plan: null,
  mentions: [],
  context: [],
  items: [],
  steps: []
};

function step(start: number, fields: Partial<StepView> = {}): StepView {
  return {
    step_id: `s${start}`,
    index: 0,
    endpoint: 'e',
    model: 'm',
    role: 'primary',
    purpose: 'act',
    started_at: at(start),
    usage: { prompt_tokens: 100, completion_tokens: 7, cached_tokens: 80 },
    timings: { first_token: 1, total: 3 },
    prefix_share: null,
    cost: null,
    finish_reason: '',
    ...fields
  };
}

function call(fields: Partial<CallView>): CallView {
  return {
    type: 'call',
    call_id: 'c',
    step_id: 's',
    tool: 'run_code',
    kind: 'execute',
    title: 'Run code',
    arguments: {},
    status: 'completed',
    requested_at: at(3),
    started_at: at(3),
    verdict: null,
    rule: '',
    approval: null,
    execution: null,
    earlier: [],
    files: [],
    result: '',
    side_file: '',
    duration: 2,
    worker: null,
    cells: [],
    pictures: [],
    ...fields
  };
}

function bars(turn: TurnView, now = 0) {
  return traceOf(turn, START + 1000 * now).bars.map(({ doing, start, end, open, row }) => ({
    doing,
    span: [start, end],
    open,
    row
  }));
}

const ask = {
  approval_id: 'a',
  session_id: 's',
  turn_id: 't',
  call_id: 'c',
  question: '',
  detail: '',
  choices: [],
  choice: null,
  text: '',
  by: ''
};

it('a step is reading until its first token, then writing; its calls follow', () => {
  expect(bars({ ...TURN, steps: [step(0)], items: [call({})] })).toEqual([
    { doing: 'read', span: [0, 1], open: false, row: 0 },
    { doing: 'write', span: [1, 3], open: false, row: 0 },
    { doing: 'tool', span: [3, 5], open: false, row: 0 }
  ]);
});

it('a call that was asked about is a wait before it is work', () => {
  const approval = { ...ask, requested_at: at(3), resolved_at: at(9), choice: 'allow_once' as const };
  expect(bars({ ...TURN, items: [call({ approval, started_at: at(9) })] })).toEqual([
    { doing: 'wait', span: [3, 9], open: false, row: 0 },
    { doing: 'tool', span: [9, 11], open: false, row: 0 }
  ]);
});

it('what goes on ends now', () => {
  const turn = { ...TURN, finished_at: null, code: null };
  const waiting = call({ approval: { ...ask, requested_at: at(4), resolved_at: null }, started_at: null });
  expect(bars({ ...turn, items: [waiting] }, 30)).toEqual([
    { doing: 'wait', span: [4, 30], open: true, row: 0 }
  ]);
  const running = call({ status: 'in_progress', duration: null });
  expect(bars({ ...turn, items: [running] }, 6)).toEqual([
    { doing: 'tool', span: [3, 6], open: true, row: 0 }
  ]);
  expect(bars({ ...turn, steps: [step(5, { timings: null })] }, 8)).toEqual([
    { doing: 'read', span: [5, 8], open: true, row: 0 }
  ]);
});

it('what was cut off with its turn ends with it', () => {
  const waiting = call({ approval: { ...ask, requested_at: at(4), resolved_at: null }, started_at: null });
  expect(bars({ ...TURN, steps: [step(5, { timings: null })], items: [waiting] }, 90)).toEqual([
    { doing: 'wait', span: [4, 20], open: false, row: 0 },
    { doing: 'read', span: [5, 20], open: false, row: 0 }
  ]);
});

it('a line that code asks for is a wait beside its call', () => {
  const input = {
    input_id: 'i',
    prompt: '',
    password: false,
    requested_at: at(4),
    answered_at: at(6),
    text: '',
    by: 'panel'
  };
  const execution = {
    execution_id: 'e',
    place: 'own' as const,
    kernel_name: '',
    code: '',
    outputs: [],
    status: 'ok' as const,
    execution_count: null,
    ename: '',
    evalue: '',
    detail: '',
    duration: null,
    notebook: '',
    cell_id: '',
    trusted: false,
    mirrored: false,
    inputs: [input]
  };
  expect(bars({ ...TURN, items: [call({ execution, duration: 5 })] })).toEqual([
    { doing: 'tool', span: [3, 8], open: false, row: 0 },
    { doing: 'wait', span: [4, 6], open: false, row: 0 }
  ]);
});

it('calls side by side lie in rows below each other', () => {
  const items = [
    call({ duration: 4 }),
    call({ call_id: 'd', started_at: at(4) }),
    call({ call_id: 'e', started_at: at(8) })
  ];
  expect(bars({ ...TURN, items }).map(({ span, row }) => [span, row])).toEqual([
    [[3, 7], 0],
    [[4, 6], 1],
    [[8, 10], 0]
  ]);
});

it('nothing lies outside of the turn, whatever the clocks say', () => {
  const items = [call({ started_at: at(-5), duration: 90 })];
  expect(bars({ ...TURN, items })).toEqual([{ doing: 'tool', span: [0, 20], open: false, row: 0 }]);
});

it('a turn that waits in the queue has no bars', () => {
  expect(traceOf({ ...TURN, started_at: null, finished_at: null }, START)).toEqual({
    seconds: 0,
    bars: [],
    steps: []
  });
});

it('steps are counted, what is asked beside them has a name', () => {
  const steps = [
    step(0, { purpose: 'scout' }),
    step(1),
    step(2, { usage: null }),
    step(3, { purpose: 'title' })
  ];
  expect(
    traceOf({ ...TURN, steps }, START).steps.map(({ label, prompt, cached }) => [label, prompt, cached])
  ).toEqual([
    ['Planning', 100, 80],
    ['Step 1', 100, 80],
    ['Step 2', null, null],
    ['Title', 100, 80]
  ]);
});

it('the shares are sums, and what is left of the time is other', () => {
  const items = [call({ duration: 4 }), call({ call_id: 'd', started_at: at(4), duration: 1 })];
  expect(shares(traceOf({ ...TURN, steps: [step(0)], items }, START))).toEqual({
    read: 1,
    write: 2,
    tool: 5,
    wait: 0,
    other: 13
  });
});

it.each([
  [0, [0]],
  [-3, [0]],
  [Number.NaN, [0]],
  [1, [0, 0.2, 0.4, 0.6000000000000001, 0.8, 1]],
  [7, [0, 2, 4, 6]],
  [60, [0, 15, 30, 45, 60]],
  [3600, [0, 900, 1800, 2700, 3600]]
])('the axis of %d seconds has round places', (seconds, places) => {
  expect(ticks(seconds)).toEqual(places);
});

it.each([0.3, 59, 400, 86_400, 10_000_000])('the axis of %d seconds has at most seven', seconds => {
  expect(ticks(seconds).length).toBeLessThanOrEqual(7);
});
