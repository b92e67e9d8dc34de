/** Renderers that need no Jupyter: text, and pictures that came with their bytes. Nothing else of an output is drawn. */
import * as React from 'react';
import type { JSONObject, JSONValue } from '../api/types.gen';
import type { Renderers } from './renderers';
import { pictureWords } from './words';

const PICTURES = ['image/png', 'image/jpeg'];
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

function joined(value: JSONValue | undefined): string {
  return Array.isArray(value) ? value.join('') : typeof value === 'string' ? value : '';
}

/** Text as a terminal would show it, without its colours: escape sequences go, the end of an overwritten line stays. */
export function withoutEscapes(text: string): string {
  return text
    .replace(/\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g, '') // eslint-disable-line no-control-regex
    .replace(/\r\n/g, '\n')
    .replace(/[^\n]*\r(?=[^\n])/g, '');
}

function Plain(props: { text: string }): React.JSX.Element {
  return <pre className="jp-Pernix-plain">{withoutEscapes(props.text)}</pre>;
}

function Code(props: { text: string; language: string }): React.JSX.Element {
  return (
    <div className="jp-Pernix-codeBlock">
      <pre tabIndex={0} aria-label={`${props.language} code`}>
        <code>{props.text}</code>
      </pre>
    </div>
  );
}

function Output(props: { output: JSONObject }): React.JSX.Element | null {
  const { output } = props;
  if (output.output_type === 'stream') {
    return <Plain text={joined(output.text)} />;
  }
  if (output.output_type === 'error') {
    return <Plain text={joined(output.traceback) || `${joined(output.ename)}: ${joined(output.evalue)}`} />;
  }
  const { data } = output;
  if (typeof data !== 'object' || data === null || Array.isArray(data)) {
    return null;
  }
  const words = joined(data['text/plain']);
  for (const mime of PICTURES) {
    const bytes = joined(data[mime]).replace(/\s/g, '');
    if (BASE64.test(bytes)) {
      return (
        <img className="jp-Pernix-picture" src={`data:${mime};base64,${bytes}`} alt={pictureWords(words)} />
      );
    }
  }
  return <Plain text={words} />;
}

export const STILL: Renderers = {
  Markdown: Plain,
  Code,
  Outputs: ({ outputs }) => (
    <>
      {outputs.map((output, index) => (
        <Output key={index} output={output} />
      ))}
    </>
  )
};
