/** Where the time of a turn went, for a picture of it. Pure. */
import type { CallView, StepView, TurnView } from '../api/types.gen';

/** `read`: until the model's first token; `write`: from there on; `tool`: a tool worked; `wait`: for a person. */
export type Doing = 'read' | 'write' | 'tool' | 'wait';

/** Seconds from the start of the turn. `open`: it goes on, and ends now. `row`: 0, or further down where others run beside it. */
export interface Bar {
  doing: Doing;
  start: number;
  end: number;
  open: boolean;
  label: string;
  row: number;
}

export interface StepTokens {
  label: string;
  /** `null`: the endpoint did not say. */
  prompt: number | null;
  cached: number | null;
  written: number | null;
  seconds: number | null;
}

export interface Trace {
  /** Seconds from the start to the end, or to now. */
  seconds: number;
  bars: Bar[];
  steps: StepTokens[];
}

type Span = Omit<Bar, 'row'>;

const PURPOSES: Record<StepView['purpose'], string> = {
  act: 'Step',
  scout: 'Planning',
  summary: 'Summary',
  title: 'Title'
};

/** `now` in milliseconds. Everything is cut to the time between the start of the turn and its end. */
export function traceOf(turn: TurnView, now: number): Trace {
  if (turn.started_at === null) {
    return { seconds: 0, bars: [], steps: [] };
  }
  const origin = Date.parse(turn.started_at);
  const done = turn.finished_at !== null;
  const last = done ? Date.parse(turn.finished_at ?? '') : now;
  const seconds = Math.max(0, (last - origin) / 1000);
  const at = (time: string | null) => (time === null ? seconds : (Date.parse(time) - origin) / 1000);
  const names = stepNames(turn.steps);
  const calls = turn.items.filter(item => item.type === 'call');
  const spans = [
    ...turn.steps.flatMap((step, index) => ofStep(step, names[index] ?? '', at, !done)),
    ...calls.flatMap(call => ofCall(call, at, !done))
  ];
  return {
    seconds,
    bars: inRows(spans.map(span => cut(span, seconds)).filter(span => span.end > span.start || span.open)),
    steps: turn.steps.map((step, index) => tokensOf(step, names[index] ?? ''))
  };
}

/** The steps of the turn are counted; what is asked beside them has a name. */
function stepNames(steps: readonly StepView[]): string[] {
  let number = 0;
  return steps.map(step => {
    const word = PURPOSES[step.purpose];
    return step.purpose === 'act' ? `${word} ${++number}` : word;
  });
}

function cut(span: Span, seconds: number): Span {
  const start = Math.min(Math.max(0, span.start), seconds);
  return { ...span, start, end: Math.min(Math.max(start, span.end), seconds) };
}

function ofStep(step: StepView, label: string, at: (time: string | null) => number, live: boolean): Span[] {
  if (step.started_at === null) {
    return [];
  }
  const start = at(step.started_at);
  if (step.timings === null) {
    // Cut off with its turn, or still going on: what it did in that time nobody noted.
    return [{ doing: 'read', start, end: at(null), open: live, label }];
  }
  const { first_token: first, total } = step.timings;
  const written = start + Math.min(first ?? total, total);
  const span = { open: false, label };
  return [
    { ...span, doing: 'read', start, end: written },
    { ...span, doing: 'write', start: written, end: start + total }
  ];
}

function ofCall(call: CallView, at: (time: string | null) => number, live: boolean): Span[] {
  const label = call.title || call.tool;
  const spans: Span[] = [];
  const { approval } = call;
  if (approval !== null) {
    const open = live && approval.resolved_at === null;
    const start = at(approval.requested_at);
    spans.push({ doing: 'wait', start, end: at(approval.resolved_at), open, label });
  }
  if (call.started_at !== null) {
    const start = at(call.started_at);
    const open = live && call.status === 'in_progress';
    const end = call.duration === null ? at(null) : start + call.duration;
    spans.push({ doing: 'tool', start, end, open, label });
  }
  for (const input of call.execution?.inputs ?? []) {
    const open = live && input.answered_at === null;
    spans.push({ doing: 'wait', start: at(input.requested_at), end: at(input.answered_at), open, label });
  }
  return spans;
}

const LANES: Record<Doing, string> = { read: 'model', write: 'model', tool: 'tool', wait: 'wait' };

/** Puts those of a lane that overlap below each other. */
function inRows(spans: readonly Span[]): Bar[] {
  const ends = new Map<string, number[]>();
  return [...spans]
    .sort((one, two) => one.start - two.start || one.end - two.end)
    .map(span => {
      const lane = LANES[span.doing];
      const rows = ends.get(lane) ?? [];
      ends.set(lane, rows);
      // Clocks of two sources: what overlaps by a blink is one after the other.
      const free = rows.findIndex(end => end <= span.start + 0.002);
      const row = free < 0 ? rows.length : free;
      rows[row] = span.end;
      return { ...span, row };
    });
}

function tokensOf(step: StepView, label: string): StepTokens {
  return {
    label,
    prompt: step.usage?.prompt_tokens ?? null,
    cached: step.usage?.cached_tokens ?? null,
    written: step.usage?.completion_tokens ?? null,
    seconds: step.timings?.total ?? null
  };
}

/** Seconds for each thing done, and `other`: those in which none of them was. What runs side by side counts once for each. */
export function shares(trace: Trace): Record<Doing | 'other', number> {
  const sums = { read: 0, write: 0, tool: 0, wait: 0, other: 0 };
  let covered = 0;
  let until = 0;
  for (const bar of [...trace.bars].sort((one, two) => one.start - two.start)) {
    sums[bar.doing] += bar.end - bar.start;
    covered += Math.max(0, bar.end - Math.max(bar.start, until));
    until = Math.max(until, bar.end);
  }
  sums.other = Math.max(0, trace.seconds - covered);
  return sums;
}

/** Round places of a time axis from 0 to `seconds`, at most six. */
export function ticks(seconds: number): number[] {
  if (!(seconds > 0) || !Number.isFinite(seconds)) {
    return [0];
  }
  const rough = seconds / 5;
  const steps = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400];
  const step = steps.find(each => each >= rough) ?? 86_400 * Math.ceil(rough / 86_400);
  const places: number[] = [];
  for (let at = 0; at * step <= seconds * 1.0001; at++) {
    places.push(at * step);
  }
  return places;
}
