/** The outputs of one execution, and how to get a list that is shown to be like them. Pure. */
import type { JSONObject, OutputOp } from '../api/types.gen';

/** Carry out one step in place; one that does not fit changes nothing. A changed output is a new object. */
export function applyOutput(outputs: JSONObject[], op: OutputOp): void {
  const { index = 0, output = null, text = '' } = op;
  const old = outputs[index];
  if (op.op === 'clear') {
    outputs.length = 0;
  } else if (op.op === 'append') {
    if (output !== null) {
      outputs.push(output);
    }
  } else if (old !== undefined && op.op === 'replace' && output !== null) {
    outputs[index] = output;
  } else if (old !== undefined && op.op === 'extend') {
    outputs[index] = { ...old, text: streamText(old) + text };
  }
}

/** The text of a stream output; nbformat allows a list of lines. */
export function streamText(output: JSONObject): string {
  const { text } = output;
  return Array.isArray(text) ? text.join('') : typeof text === 'string' ? text : '';
}

export type Step =
  /** Everything goes, and `outputs` come. */
  | { do: 'rebuild'; outputs: readonly JSONObject[] }
  | { do: 'add'; output: JSONObject; apart: boolean }
  | { do: 'set'; index: number; output: JSONObject }
  /** The stream at `index` keeps its first `keep` characters and goes on with `text`. */
  | { do: 'text'; index: number; keep: number; text: string };

const isStream = (output: JSONObject | undefined) => output?.output_type === 'stream';

/** Whether what shows `old` can be made to show `fresh`. */
function fits(old: JSONObject, fresh: JSONObject | undefined): boolean {
  return (
    fresh !== undefined && (isStream(old) ? isStream(fresh) && old.name === fresh.name : !isStream(fresh))
  );
}

/** What turns the outputs that are `shown` into those that are `wanted`; outputs that are the same objects are left alone. */
export function steps(shown: readonly JSONObject[], wanted: readonly JSONObject[]): Step[] {
  if (!shown.every((old, index) => fits(old, wanted[index]))) {
    return [{ do: 'rebuild', outputs: wanted }];
  }
  return wanted.flatMap((output, index): Step[] => {
    const old = shown[index];
    if (old === output) {
      return [];
    }
    if (old === undefined) {
      const above = wanted[index - 1];
      return [{ do: 'add', output, apart: isStream(output) && above !== undefined && fits(above, output) }];
    }
    return isStream(output)
      ? textSteps(index, streamText(old), streamText(output))
      : [{ do: 'set', index, output }];
  });
}

function textSteps(index: number, before: string, after: string): Step[] {
  if (before === after) {
    return [];
  }
  let keep = 0;
  if (after.startsWith(before)) {
    keep = before.length;
  } else {
    const shorter = Math.min(before.length, after.length);
    while (keep < shorter && before.charCodeAt(keep) === after.charCodeAt(keep)) {
      keep++;
    }
  }
  return [{ do: 'text', index, keep, text: after.slice(keep) }];
}
