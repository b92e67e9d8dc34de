/** Which cells of a run notebook run nothing, only tell of a call, a question or a plan. Pure. */

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
