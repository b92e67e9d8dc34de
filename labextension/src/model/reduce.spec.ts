import { readdirSync, readFileSync } from 'fs';
import { join } from 'path';
import { EVENT_TYPES, type SessionView } from '../api/types.gen';
import { applyOutput, emptyView, isKnown, openApprovals, reduce, reduceAll, type AnyStored } from './reduce';

interface Case {
  log: AnyStored[];
  view: SessionView;
}

const FOLDER = join(__dirname, '../../../tests/cases/logs');
const NAMES = readdirSync(FOLDER).filter(name => name.endsWith('.json'));

function read(name: string): Case {
  return JSON.parse(readFileSync(join(FOLDER, name), 'utf-8'));
}

function fresh(log: AnyStored[]): SessionView {
  return emptyView(log[0]?.session_id ?? '');
}

describe.each(NAMES)('%s', name => {
  const { log, view } = read(name);

  it('folds to the same view as in Python', () => {
    expect(reduceAll(fresh(log), log)).toEqual(view);
  });

  it('folds to the same view whatever the reader has seen and from wherever it reads again', () => {
    for (let cut = 0; cut <= log.length; cut++) {
      const before = reduceAll(fresh(log), log.slice(0, cut));
      for (let back = 0; back <= cut; back++) {
        expect(reduceAll(before, log.slice(back))).toEqual(view);
      }
    }
  });

  it('never changes a view that somebody holds', () => {
    let state = fresh(log);
    for (const event of log) {
      const copy = JSON.stringify(state);
      const next = reduce(state, event);
      expect(JSON.stringify(state)).toBe(copy);
      state = next;
    }
  });
});

it('the logs hold every event there is', () => {
  const seen = new Set(NAMES.flatMap(name => read(name).log).map(event => event.type));
  expect(EVENT_TYPES.filter(type => !seen.has(type))).toEqual([]);
});

it('an event of a newer program moves the sequence on and nothing else', () => {
  const before = emptyView('s');
  const event = { seq: 4, recorded_at: '', type: 'moon.landed', session_id: 's' };
  expect(isKnown(event)).toBe(false);
  expect(reduce(before, event)).toEqual({ ...before, last_seq: 4 });
});

it('what an event does not touch keeps its identity', () => {
  const { log } = read('whole_job.json');
  const before = reduceAll(fresh(log), log);
  const after = reduce(before, {
    seq: 10_000,
    recorded_at: '',
    type: 'message.completed',
    session_id: before.session_id,
    turn_id: 't2',
    step_id: 's9',
    text: 'new',
    corrections: []
  });
  expect(after.turns[0]).toBe(before.turns[0]);
  expect(after.turns[1]).not.toBe(before.turns[1]);
});

it('a question is open until it is answered', () => {
  const { log } = read('whole_job.json');
  const asked = log.findIndex(event => event.type === 'approval.requested');
  expect(openApprovals(reduceAll(fresh(log), log.slice(0, asked + 1))).map(call => call.call_id)).toEqual([
    'c2'
  ]);
  expect(openApprovals(reduceAll(fresh(log), log))).toEqual([]);
});

it('an output step that fits no list changes nothing', () => {
  const outputs = [{ output_type: 'stream', text: 'a' }];
  expect(applyOutput(outputs, { op: 'replace', index: 3, output: {}, text: '' })).toBe(outputs);
  expect(applyOutput(outputs, { op: 'extend', index: -1, output: null, text: 'x' })).toBe(outputs);
});

it('a wait is over when its own step goes on, not when another one does', () => {
  const { log } = read('long_life.json');
  const at = log.findIndex(event => event.type === 'step.retry_scheduled');
  const waits = reduceAll(fresh(log), log.slice(0, at + 1));
  expect(waits.waiting?.seconds).toBe(12);
  expect(reduceAll(waits, log.slice(at, at + 3)).waiting).toBe(waits.waiting);
  const over = log.findIndex(event => event.type === 'step.fallback_taken');
  expect(reduceAll(waits, log.slice(at, over + 1)).waiting).toBeNull();
});
