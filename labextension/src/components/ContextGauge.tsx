import * as React from 'react';
import type { SessionView } from '../api/types.gen';
import { count } from './words';

export interface ContextGaugeProps {
  view: SessionView;
  /** Without it nothing can be done here. */
  onCompact?: () => void;
}

/** How full the model's input is; opened, what can be done about it. */
export function ContextGauge(props: ContextGaugeProps): React.JSX.Element | null {
  const { view } = props;
  const [open, setOpen] = React.useState(false);
  const sheetId = React.useId();
  const tokens = view.context_tokens;
  if (tokens === null) {
    return null;
  }
  const length = view.context_length ?? 0;
  const share = length > 0 ? Math.min(1, tokens / length) : 0;
  const words = length > 0 ? `${Math.round(share * 100)}% of ${count(length)}` : `${count(tokens)} tokens`;
  return (
    <>
      <button
        type="button"
        className={share > 0.85 ? 'jp-Pernix-gauge jp-mod-full' : 'jp-Pernix-gauge'}
        aria-label={`Context: ${words}`}
        aria-expanded={open}
        aria-controls={sheetId}
        title={`Context: ${tokens.toLocaleString()} ${length > 0 ? `of ${length.toLocaleString()} ` : ''}tokens`}
        onClick={() => setOpen(!open)}
      >
        {length > 0 && (
          <span className="jp-Pernix-gaugeBar">
            <span style={{ width: `${share * 100}%` }} />
          </span>
        )}
        {words}
      </button>
      <div id={sheetId} className="jp-Pernix-sheet" role="group" aria-label="Context" hidden={!open}>
        {open && <Sheet tokens={tokens} length={length} {...props} />}
      </div>
    </>
  );
}

function Sheet(props: ContextGaugeProps & { tokens: number; length: number }): React.JSX.Element {
  const { view, tokens, length, onCompact } = props;
  const idle = view.state === 'idle_ready';
  return (
    <>
      <span className="jp-Pernix-sheetText">
        The model reads {tokens.toLocaleString()} {length > 0 && `of at most ${length.toLocaleString()} `}
        tokens with each step: instructions, messages, and what its tools gave back.
        {length === 0 && ' Its endpoint does not say how many fit.'}
      </span>
      {onCompact && (
        <button
          type="button"
          className="jp-Pernix-button"
          disabled={!idle}
          title={
            idle
              ? 'Puts a summary in the place of older turns; everything stays on the screen and in the log'
              : 'When the session is ready'
          }
          onClick={onCompact}
        >
          Compact now
        </button>
      )}
    </>
  );
}
