/** Steps of outputs, carried out on the model of a cell; JupyterLab draws what changed. */
import type { ICodeCellModel } from '@jupyterlab/cells';
import type { JSONObject } from '../api/types.gen';
import type { Step } from './fold';
import { isHarmless } from './harmless';

const judged = new WeakMap<JSONObject, boolean>();

/** Whether an output may be drawn as trusted; looked at once. */
export function isHarmlessOnce(output: JSONObject): boolean {
  let verdict = judged.get(output);
  if (verdict === undefined) {
    verdict = isHarmless(output);
    judged.set(output, verdict);
  }
  return verdict;
}

/** Draw one step. */
export function carryOut(cell: ICodeCellModel, step: Step): void {
  const { outputs } = cell;
  switch (step.do) {
    case 'rebuild':
      outputs.clear();
      step.outputs.forEach(output => add(outputs, output, true));
      break;
    case 'add':
      add(outputs, step.output, step.apart);
      break;
    case 'set':
      outputs.set(step.index, step.output as Output);
      break;
    case 'text': {
      const text = outputs.get(step.index).streamText;
      if (text === undefined) {
        break;
      }
      if (step.keep < text.text.length) {
        text.remove(step.keep, text.text.length);
      }
      if (step.text !== '') {
        text.insert(step.keep, step.text);
      }
    }
  }
}

type Outputs = ICodeCellModel['outputs'];
type Output = Parameters<Outputs['add']>[0];

/** `apart`: not joined with a stream of the same name above it. */
function add(outputs: Outputs, output: JSONObject, apart: boolean): void {
  if (apart && 'clearNext' in outputs) {
    // A pending clear that is called off: all that is left of it is that the model does not join streams.
    outputs.clear(true);
    outputs.clearNext = false;
  }
  outputs.add(output as Output);
}
