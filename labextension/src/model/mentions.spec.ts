import { hasNames, mentionsIn, nameBefore } from './mentions';

const KNOWN = new Set(['df', 'df.old', 'größe', '_x']);
const names = (text: string) => mentionsIn(text, KNOWN).map(mention => mention.name);

it('known variables are mentioned once each, in order', () => {
  expect(names('compare @_x with @df and @df, then @größe')).toEqual(['_x', 'df', 'größe']);
});

it('a dot ends a name unless a longer one is known', () => {
  expect(names('plot @df.')).toEqual(['df']);
  expect(names('call @df.head() on @df.old')).toEqual(['df', 'df.old']);
});

it('addresses, decorators and unknown names are no mentions', () => {
  expect(names('ask a.b@df.org about @property and @dfx')).toEqual([]);
  expect(hasNames('a@df')).toBe(false);
  expect(hasNames('(@df)')).toBe(true);
});

it.each<[string, string | null]>([
  ['look at @', ''],
  ['look at @d', 'd'],
  ['@df.o', 'df.o'],
  ['look at @df ', null],
  ['mail a@d', null]
])('the name before the cursor in %j', (text, name) => {
  expect(nameBefore(text, text.length)).toBe(name);
});
