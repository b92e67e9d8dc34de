import { excerpt, lineDiff, replacement } from './source';

const applied = (before: string, after: string) => {
  const piece = replacement(before, after);
  return piece === null ? before : before.slice(0, piece.start) + piece.text + before.slice(piece.end);
};

test.each([
  ['', 'a'],
  ['a', ''],
  ['aaa', 'aa'],
  ['x = 1\ny = 2', 'x = 1\ny = 3'],
  ['a😀b', 'a😁b'],
  ['😀', '😀😀'],
  ['same', 'same']
])('%j becomes %j by one piece', (before, after) => {
  expect(applied(before, after)).toBe(after);
});

test('a surrogate pair is replaced as a whole', () => {
  expect(replacement('a😀b', 'a😁b')).toEqual({ start: 1, end: 3, text: '😁' });
});

test('a changed line tells which part of it changed', () => {
  expect(lineDiff('import os\nx = 1\nprint(x)', 'import os\nx = 12\nprint(x)')).toEqual([
    { tone: 'same', text: 'import os' },
    { tone: 'removed', text: 'x = 1', marked: [5, 5] },
    { tone: 'added', text: 'x = 12', marked: [5, 6] },
    { tone: 'same', text: 'print(x)' }
  ]);
});

test('lines that were added in between leave the others alone', () => {
  expect(lineDiff('a\nb\nc', 'a\nx\nb\ny\nc').map(line => `${line.tone[0]}${line.text}`)).toEqual([
    'sa',
    'ax',
    'sb',
    'ay',
    'sc'
  ]);
});

test('very long texts are compared without a table of all pairs', () => {
  const lines = Array.from({ length: 3000 }, (_, index) => `line ${index}`);
  const others = lines.map(line => `${line}!`);
  expect(lineDiff(lines.join('\n'), others.join('\n'))).toHaveLength(6000);
});

test('an excerpt leaves out what is far from a change, once for each gap', () => {
  const old = Array.from({ length: 30 }, (_, index) => `${index}`);
  const fresh = old.map(line => (line === '15' ? 'new' : line));
  expect(excerpt(lineDiff(old.join('\n'), fresh.join('\n')), 1).map(line => line?.text ?? null)).toEqual([
    null,
    '14',
    '15',
    'new',
    '16',
    null
  ]);
});

it('lines that share little are not marked as if one had become the other', () => {
  const lines = lineDiff('df["month"] = to_datetime(df.month)', 'monthly = df.groupby("month").amount.sum()');
  expect(lines.map(line => line.marked)).toEqual([undefined, undefined]);
  expect(lineDiff('x = total(1)', 'x = total(22)').map(line => line.marked)).toEqual([
    [10, 11],
    [10, 12]
  ]);
});
