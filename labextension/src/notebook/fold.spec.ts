import type { JSONObject, OutputOp } from '../api/types.gen';
import { applyOutput, steps, streamText, type Step } from './fold';

const stream = (text: string, name = 'stdout'): JSONObject => ({ output_type: 'stream', name, text });
const shown = (data: string): JSONObject => ({
  output_type: 'display_data',
  data: { 'text/plain': data },
  metadata: {}
});

/** What a page shows after the steps. */
function carriedOut(before: readonly JSONObject[], list: readonly Step[]): JSONObject[] {
  const outputs = [...before];
  for (const step of list) {
    if (step.do === 'rebuild') {
      outputs.splice(0, outputs.length, ...step.outputs);
    } else if (step.do === 'add') {
      outputs.push(step.output);
    } else if (step.do === 'set') {
      outputs[step.index] = step.output;
    } else {
      const old = outputs[step.index] ?? {};
      outputs[step.index] = { ...old, text: streamText(old).slice(0, step.keep) + step.text };
    }
  }
  return outputs;
}

test('a stream that grows is extended in place', () => {
  const before = [shown('table'), stream('a\n')];
  const wanted = [...before];
  applyOutput(wanted, { op: 'extend', index: 1, text: 'b\n' });
  expect(steps(before, wanted)).toEqual([{ do: 'text', index: 1, keep: 2, text: 'b\n' }]);
});

test('a line that is written anew keeps what stands before it', () => {
  expect(steps([stream('log\n 10%')], [stream('log\n 20%')])).toEqual([
    { do: 'text', index: 0, keep: 5, text: '20%' }
  ]);
});

test('a picture is replaced in its place', () => {
  const [one, two] = [shown('1'), shown('2')];
  expect(steps([one], [two])).toEqual([{ do: 'set', index: 0, output: two }]);
});

test('two streams of one name that follow each other are kept apart', () => {
  const [one, two] = [stream('a'), stream('b')];
  expect(steps([one], [one, two])).toEqual([{ do: 'add', output: two, apart: true }]);
});

test.each<[string, JSONObject[], JSONObject[]]>([
  ['nothing', [shown('1')], []],
  ['fewer', [shown('1'), shown('2')], [shown('3')]],
  ['a stream where a picture was', [shown('1')], [stream('a')]],
  ['another stream', [stream('a')], [stream('a', 'stderr')]],
  ['more of everything', [stream('a')], [stream('ab'), shown('1'), stream('c')]]
])('the steps always lead to what is wanted: %s', (_, before, wanted) => {
  expect(carriedOut(before, steps(before, wanted))).toEqual(wanted);
});

test('steps that do not fit change nothing', () => {
  const outputs = [stream('a')];
  const unfit: OutputOp[] = [
    { op: 'extend', index: 3, text: 'x' },
    { op: 'replace', index: 1, output: shown('1') },
    { op: 'append', output: null }
  ];
  unfit.forEach(op => applyOutput(outputs, op));
  expect(outputs).toEqual([stream('a')]);
});
