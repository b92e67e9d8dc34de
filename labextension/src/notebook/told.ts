/**
 * Cells of a run notebook that run nothing, only tell of a call, a question or a plan. JupyterLab runs them with all the others and throws
 * their outputs away for the nothing that comes of it; here they are put back.
 */
import type { Cell, ICodeCellModel } from '@jupyterlab/cells';
import { NotebookActions } from '@jupyterlab/notebook';
import { isCode } from './failed';

type Outputs = ReturnType<ICodeCellModel['sharedModel']['getOutputs']>;

interface Told {
  outputs: Outputs;
  trusted: boolean;
}

const KINDS: readonly unknown[] = ['tool', 'approval', 'plan'];
const OURS = 'application/vnd.pernix.';
const COMMENT = /^\s*(#|\/\/|$)/;

/** Its kind, a source without code and outputs of ours say that it is such a cell. */
export function tells(pernix: unknown, source: string, outputs: readonly object[]): boolean {
  const kind = typeof pernix === 'object' && pernix !== null && 'kind' in pernix ? pernix.kind : null;
  return (
    KINDS.includes(kind) &&
    source.split('\n').every(line => COMMENT.test(line)) &&
    outputs.some(
      output => 'data' in output && Object.keys(output.data ?? {}).some(mime => mime.startsWith(OURS))
    )
  );
}

export function keepTold(): void {
  const running = new WeakMap<Cell, Told>();
  NotebookActions.executionScheduled.connect((_, { cell }) => {
    const { model } = cell;
    if (isCode(model) && !running.has(cell)) {
      const outputs = model.sharedModel.getOutputs();
      if (tells(model.getMetadata('pernix'), model.sharedModel.getSource(), outputs)) {
        running.set(cell, { outputs, trusted: model.trusted });
      }
    }
  });
  NotebookActions.executed.connect((_, { cell }) => {
    const told = running.get(cell);
    running.delete(cell);
    const { model } = cell;
    if (told === undefined || cell.isDisposed || !isCode(model) || model.outputs.length > 0) {
      return;
    }
    // Running a cell makes it trusted, and these outputs are none that it put out now.
    model.trusted = told.trusted;
    if (!told.trusted) {
      model.sharedModel.deleteMetadata('trusted');
    }
    model.sharedModel.setOutputs(told.outputs);
    model.executionCount = null;
  });
}
