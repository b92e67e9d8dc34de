/**
 * What components need drawn and cannot draw themselves, given by whoever uses them.
 *
 * The components import React, our types and pure functions only; nothing of JupyterLab. Whoever shows them elsewhere (a widget with
 * `preact/compat` in React's place) wraps them in `RenderersContext.Provider` with the three below. Each must show untrusted text and
 * outputs without running or loading anything; `PLAIN` does. Then: props in, callbacks out; a card without a callback has no button for
 * it. Colours are JupyterLab's variables, styles are in `style/`.
 */
import * as React from 'react';
import type { JSONObject } from '../api/types.gen';

export interface Renderers {
  /** Text a model wrote. `streaming`: more of it comes soon. */
  Markdown: React.ComponentType<{ text: string; streaming: boolean }>;
  /** Source code with its colours. `language` as in a Markdown fence, or a file's ending. */
  Code: React.ComponentType<{ text: string; language: string }>;
  /** nbformat outputs, untrusted. */
  Outputs: React.ComponentType<{ outputs: readonly JSONObject[] }>;
}

function Plain(props: { text: string }): React.JSX.Element {
  return <pre className="jp-Pernix-plain">{props.text}</pre>;
}

function textOf(output: JSONObject): string {
  const data = output.data;
  const text =
    output.text ??
    (typeof data === 'object' && data !== null && !Array.isArray(data) ? data['text/plain'] : '');
  return Array.isArray(text) ? text.join('') : String(text ?? output.evalue ?? '');
}

/** Everything as plain text: for where nothing better is given, and for tests. */
export const PLAIN: Renderers = {
  Markdown: Plain,
  Code: Plain,
  Outputs: ({ outputs }) => (
    <>
      {outputs.map((output, index) => (
        <Plain key={index} text={textOf(output)} />
      ))}
    </>
  )
};

export const RenderersContext = React.createContext<Renderers>(PLAIN);

export function useRenderers(): Renderers {
  return React.useContext(RenderersContext);
}
