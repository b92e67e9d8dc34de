/** The agent's changes that wait for the user, by the cell that they belong to. Pure. */
import type { CellChangeView } from '../api/types.gen';

export interface ChangeGroup {
  cellId: string;
  /** What the user sees: the first and the last of several changes together. */
  kind: 'inserted' | 'edited' | 'deleted' | 'moved';
  /** Source before the first and after the last change. */
  before: string;
  after: string;
  /** For a deleted cell: the cell that it stood behind, '' at the top. */
  wasBehind: string;
  /** In the order in which they were made. */
  changeIds: readonly string[];
}

/** `changes` in the order in which they were made; only those that were made and not answered count. */
export function groupChanges(changes: readonly CellChangeView[]): ChangeGroup[] {
  const byCell = new Map<string, CellChangeView[]>();
  for (const view of changes) {
    if (view.status === 'made') {
      const { cell_id: id } = view.change;
      byCell.set(id, [...(byCell.get(id) ?? []), view]);
    }
  }
  return [...byCell].flatMap(([cellId, views]) => {
    const first = views[0]?.change;
    const last = views[views.length - 1]?.change;
    if (first === undefined || last === undefined) {
      return [];
    }
    const kind =
      last.after === null
        ? 'deleted'
        : first.before === null
          ? 'inserted'
          : views.every(view => view.change.op === 'move')
            ? 'moved'
            : 'edited';
    return [
      {
        cellId,
        kind,
        before: first.before?.source ?? '',
        after: last.after?.source ?? '',
        wasBehind: last.was_behind ?? '',
        changeIds: views.map(view => view.change.change_id)
      }
    ];
  });
}
