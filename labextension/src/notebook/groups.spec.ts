import type { CellChange, CellChangeView } from '../api/types.gen';
import { groupChanges } from './groups';

let number = 0;

function made(
  op: CellChange['op'],
  cellId: string,
  before: string | null,
  after: string | null
): CellChangeView {
  const cell = (source: string | null) =>
    source === null ? null : { cell_id: cellId, cell_type: 'code' as const, source };
  const change: CellChange = {
    change_id: `chg_${number++}`,
    path: 'a.ipynb',
    op,
    cell_id: cellId,
    before: cell(before),
    after: cell(after),
    was_behind: 'c0'
  };
  return { change, turn_id: 'trn_1', status: 'made', owner: 'page', detail: '' };
}

test('several edits of a cell are one, from the first text to the last', () => {
  const [group] = groupChanges([made('edit', 'c1', 'a', 'b'), made('edit', 'c1', 'b', 'c')]);
  expect(group).toMatchObject({ kind: 'edited', before: 'a', after: 'c' });
  expect(group?.changeIds).toHaveLength(2);
});

test('a cell that was inserted and then edited is new', () => {
  expect(groupChanges([made('insert', 'c1', null, 'a'), made('edit', 'c1', 'a', 'b')])).toMatchObject([
    { kind: 'inserted', after: 'b' }
  ]);
});

test('a deleted cell tells where it stood', () => {
  expect(groupChanges([made('delete', 'c1', 'a', null)])).toMatchObject([
    { kind: 'deleted', before: 'a', wasBehind: 'c0' }
  ]);
});

test('only what was made and is undecided counts', () => {
  const undecided = [
    { ...made('edit', 'c1', 'a', 'b'), status: 'requested' as const },
    { ...made('edit', 'c2', 'a', 'b'), status: 'kept' as const },
    made('move', 'c3', 'a', 'a')
  ];
  expect(groupChanges(undecided)).toMatchObject([{ cellId: 'c3', kind: 'moved' }]);
});
