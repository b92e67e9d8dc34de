import * as React from 'react';
import type { FileChange } from '../api/types.gen';
import { UNDO } from './gatewords';
import { plain } from './words';

function tone(line: string): string {
  if (line.startsWith('@@')) {
    return 'place';
  }
  return line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : 'same';
}

/** What was done to one file, as a unified diff. `restored`: it was put back since. */
export function Diff(props: {
  change: FileChange;
  restored?: boolean;
  onOpen?: ((path: string) => void) | undefined;
}): React.JSX.Element {
  const { change, onOpen } = props;
  const what = change.before === null ? 'new' : change.after === null ? 'deleted' : '';
  return (
    <div className="jp-Pernix-diff" role="group" aria-label={`Changes of ${plain(change.path)}`}>
      <div className="jp-Pernix-diffHead">
        {onOpen && change.after !== null ? (
          <button
            type="button"
            className="jp-Pernix-link"
            onClick={() => onOpen(change.path)}
            title="Open the file"
          >
            {plain(change.path)}
          </button>
        ) : (
          <span>{plain(change.path)}</span>
        )}
        {what && <span className="jp-Pernix-chip">{what}</span>}
        {props.restored === true && <span className="jp-Pernix-chip">{UNDO.undone}</span>}
        <span className="jp-Pernix-added">+{change.added_lines}</span>
        <span className="jp-Pernix-removed">−{change.removed_lines}</span>
      </div>
      {change.diff && <DiffText diff={change.diff} />}
    </div>
  );
}

/** The lines of a unified diff, without those that name the file. */
export function DiffText(props: { diff: string }): React.JSX.Element {
  const lines = props.diff
    .replace(/^--- .*\n\+\+\+ .*\n/, '')
    .replace(/\n$/, '')
    .split('\n');
  return (
    <pre className="jp-Pernix-diffBody" tabIndex={0}>
      {lines.map((line, index) => (
        <span key={index} className={`jp-Pernix-diffLine jp-mod-${tone(line)}`}>
          {line}
          {'\n'}
        </span>
      ))}
    </pre>
  );
}
