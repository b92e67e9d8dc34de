/**
 * JupyterLab runs cells that only tell of something with all the others, and throws their outputs away for the nothing that comes of it;
 * here they are put back.
 */
import type { Cell, ICodeCellModel } from '@jupyterlab/cells';
import { NotebookActions } from '@jupyterlab/notebook';
import { isCode } from './failed';
import { tells } from './told';

type Outputs = ReturnType<ICodeCellModel['sharedModel']['getOutputs']>;

interface Told {
  outputs: Outputs;
  trusted: boolean;
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
