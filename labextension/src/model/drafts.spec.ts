import type { Delta } from '../api/types.gen';
import { applyDelta, settle, write, type Drafts } from './drafts';

function delta(type: 'message.delta' | 'thought.delta', offset: number, text: string, step = 's1'): Delta {
  return { type, session_id: 's', turn_id: 't1', step_id: step, offset, text };
}

function play(...deltas: Delta[]): Drafts {
  return deltas.reduce<Drafts>(applyDelta, null);
}

const stored = { seq: 1, recorded_at: '', session_id: 's', turn_id: 't1', step_id: 's1' };

it('pieces come together in order, and twice does no harm', () => {
  const twice = play(
    delta('message.delta', 0, 'Hel'),
    delta('message.delta', 3, 'lo'),
    delta('message.delta', 3, 'lo')
  );
  expect(twice?.message.text).toBe('Hello');
});

it('offsets count characters, not UTF-16 units', () => {
  const text = play(
    delta('message.delta', 0, 'a🐛b'),
    delta('message.delta', 3, '🎉'),
    delta('message.delta', 2, '!')
  );
  expect(text?.message).toEqual({ text: 'a🐛!', points: 3 });
});

it('offset 0 starts afresh, as after a reconnect', () => {
  expect(play(delta('message.delta', 0, 'old'), delta('message.delta', 0, 'new text'))?.message.text).toBe(
    'new text'
  );
});

it('a piece behind a hole is dropped', () => {
  expect(write({ text: 'ab', points: 2 }, 5, 'zz')).toEqual({ text: 'ab', points: 2 });
});

it('a new step replaces the drafts of the one before', () => {
  const next = play(delta('message.delta', 0, 'one'), delta('thought.delta', 0, 'two', 's2'));
  expect(next).toMatchObject({ stepId: 's2', message: { text: '' }, thought: { text: 'two' } });
});

it('a stored text takes the place of its draft', () => {
  const drafts = play(delta('thought.delta', 0, 'hm'), delta('message.delta', 0, 'text'));
  const said = settle(drafts, { ...stored, type: 'message.completed', text: 'text' });
  expect(said).toMatchObject({ message: { text: '' }, thought: { text: 'hm' } });
  expect(settle(said, { ...stored, type: 'step.finished' })).toBeNull();
});

it('the arguments of calls grow each by itself until the calls are stored', () => {
  const call = { ...delta('message.delta', 0, ''), type: 'tool_call.delta' as const };
  const drafts = play(
    { ...call, index: 0, tool: 'run_code', text: '{"co' },
    { ...call, index: 1, tool: 'read_file', text: '{' },
    { ...call, index: 0, tool: 'run_code', offset: 4, text: 'de"' }
  );
  expect(drafts?.calls.map(entry => [entry.tool, entry.text])).toEqual([
    ['run_code', '{"code"'],
    ['read_file', '{']
  ]);
  expect(settle(drafts, { ...stored, type: 'tool_call.requested' })?.calls).toEqual([]);
});

it('the end of the turn leaves no draft, whatever was stored of it', () => {
  const drafts = play(delta('message.delta', 0, 'cut off'));
  expect(settle(drafts, { ...stored, type: 'turn.finished' })).toBeNull();
  expect(settle(drafts, { ...stored, type: 'turn.finished', turn_id: 'other' } as never)).toBe(drafts);
});
