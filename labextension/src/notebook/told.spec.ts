import { tells } from './told';

const CARD = [{ data: { 'application/vnd.pernix.tool-call+json': {}, 'text/plain': 'x' } }];
const SOURCE = '# edit_file: Edit a.md\n# completed, 0.1 s';

test.each(['tool', 'approval', 'plan'])('a comment with a card of ours tells of a %s', kind => {
  expect(tells({ kind }, SOURCE, CARD)).toBe(true);
});

test.each<[string, unknown, string, object[]]>([
  ['code', { kind: 'code' }, SOURCE, CARD],
  ['without our metadata', undefined, SOURCE, CARD],
  ['with code in it now', { kind: 'tool' }, `${SOURCE}\nprint(1)`, CARD],
  ['with other outputs', { kind: 'tool' }, SOURCE, [{ data: { 'text/html': '<b>' } }, {}]]
])('a cell %s does not', (_, pernix, source, outputs) => {
  expect(tells(pernix, source, outputs)).toBe(false);
});
