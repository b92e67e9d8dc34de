import * as React from 'react';
import type { ExecutionView } from '../api/types.gen';
import { Inputs, type InputsProps } from './Input';
import { useRenderers } from './renderers';
import { baseName, cellWords, NOT_MIRRORED, NOTEBOOK, plain, sentence } from './words';

export interface ExecutionHandlers extends Pick<InputsProps, 'onInput'> {
  /** Opens a notebook by its path below the server's root. */
  onOpenNotebook?: ((path: string) => void) | undefined;
}

const LANGUAGES: readonly (readonly [kernel: RegExp, language: string])[] = [
  [/^ir\b/i, 'r'],
  [/julia/i, 'julia'],
  [/\b(ba|z|fi)?sh\b/i, 'shell']
];

/** The language of a kernel's code as its name lets guess, for its colours only. */
export function languageOf(kernelName: string): string {
  return LANGUAGES.find(([kernel]) => kernel.test(kernelName))?.[1] ?? 'python';
}

/** Code that ran: which cell it is, what it asked for, how it failed, what it printed. `settled`: its call is over. */
export function Execution(
  props: ExecutionHandlers & { execution: ExecutionView; showCode: boolean; settled: boolean }
): React.JSX.Element {
  const { execution, showCode, settled, onInput } = props;
  const { Code, Outputs } = useRenderers();
  const owed = settled && execution.notebook !== '' && execution.status !== null && !execution.mirrored;
  return (
    <>
      <CellLine {...props} />
      {showCode && <Code text={execution.code} language={languageOf(execution.kernel_name)} />}
      <Inputs inputs={execution.inputs} onInput={execution.status === null ? onInput : undefined} />
      {execution.ename && (
        <div className="jp-Pernix-error">
          <strong>{plain(execution.ename)}</strong>
          {execution.evalue && `: ${plain(execution.evalue)}`}
        </div>
      )}
      {execution.outputs.length > 0 && (
        <div className="jp-Pernix-outputs" role="group" aria-label="Outputs" tabIndex={0}>
          <Outputs outputs={execution.outputs} />
        </div>
      )}
      {execution.detail && <div className="jp-Pernix-note">{sentence(execution.detail)}</div>}
      {owed && <div className="jp-Pernix-note">{NOT_MIRRORED}</div>}
    </>
  );
}

function CellLine(props: ExecutionHandlers & { execution: ExecutionView }): React.JSX.Element | null {
  const { execution, onOpenNotebook } = props;
  const words = cellWords(execution);
  return words === '' ? null : (
    <div className="jp-Pernix-cellLine">
      <span>{words}</span>
      <NotebookLink path={execution.notebook} onOpen={onOpenNotebook} />
    </div>
  );
}

export function NotebookLink(props: {
  path: string;
  onOpen: ((path: string) => void) | undefined;
}): React.JSX.Element {
  const { path, onOpen } = props;
  return onOpen ? (
    <button
      type="button"
      className="jp-Pernix-link"
      title={`${NOTEBOOK.open}: ${plain(path)}`}
      onClick={() => onOpen(path)}
    >
      {baseName(path)}
    </button>
  ) : (
    <span title={plain(path)}>{baseName(path)}</span>
  );
}
