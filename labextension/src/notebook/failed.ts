import type { ICellModel, ICodeCellModel } from '@jupyterlab/cells';

/** Errors stand at the end of the outputs; what a thread printed later may follow. */
const LOOKED_AT = 5;

export function isCode(cell: ICellModel): cell is ICodeCellModel {
  return cell.type === 'code';
}

/** Whether the last run of a cell ended in an error. */
export function hasFailed(cell: ICellModel): boolean {
  if (!isCode(cell) || cell.executionState === 'running') {
    return false;
  }
  const { outputs } = cell;
  for (let index = outputs.length - 1; index >= Math.max(0, outputs.length - LOOKED_AT); index--) {
    if (outputs.get(index).type === 'error') {
      return true;
    }
  }
  return false;
}
