import * as React from 'react';
import type { InputView } from '../api/types.gen';
import { useQuiet } from './quiet';
import { INPUT, inputWords, plainLines } from './words';

export interface InputsProps {
  inputs: readonly InputView[];
  /** True when the answer is stored; `null`: the user will not answer. */
  onInput?: ((inputId: string, text: string | null) => Promise<boolean>) | undefined;
}

/** The lines that one execution asked for, and the one that it waits for. */
export function Inputs(props: InputsProps): React.JSX.Element | null {
  const { inputs, onInput } = props;
  if (inputs.length === 0) {
    return null;
  }
  return (
    <div className="jp-Pernix-inputs" role="group" aria-label={INPUT.lines} tabIndex={-1}>
      {inputs.map(input =>
        input.by === '' && onInput ? (
          <OpenInput key={input.input_id} input={input} onInput={onInput} />
        ) : (
          <div key={input.input_id} className="jp-Pernix-answered">
            {input.prompt.trim() !== '' && <span>{plainLines(input.prompt.trim())} </span>}
            {inputWords(input) || INPUT.asks}
          </div>
        )
      )}
    </div>
  );
}

/**
 * A line to be typed. It takes the focus only from the line before it: what somebody types elsewhere meanwhile is no answer. Each has
 * a field of its own, so nothing typed for one of them reaches another.
 */
function OpenInput(props: {
  input: InputView;
  onInput: NonNullable<InputsProps['onInput']>;
}): React.JSX.Element {
  const { input, onInput } = props;
  const [text, setText] = React.useState('');
  const [sending, setSending] = React.useState(false);
  const id = React.useId();
  const quiet = useQuiet();
  const card = React.useRef<HTMLDivElement>(null);
  const field = React.useRef<HTMLInputElement>(null);
  React.useLayoutEffect(() => {
    const node = card.current;
    const around = node?.parentElement;
    if (around && document.activeElement === around) {
      field.current?.focus({ preventScroll: true });
    }
    return () => {
      if (node?.contains(document.activeElement)) {
        around?.focus({ preventScroll: true });
      }
    };
  }, []);
  const answer = async (line: string | null) => {
    if (sending) {
      return;
    }
    setSending(true);
    if (!(await onInput(input.input_id, line))) {
      setSending(false);
    }
  };
  return (
    <div className="jp-Pernix-approval" role="group" aria-labelledby={id} ref={card}>
      <div className="jp-Pernix-question" id={id}>
        {input.password ? INPUT.asksPassword : INPUT.asks}
        {input.prompt.trim() !== '' && (
          <>
            : <span className="jp-Pernix-prompt">{plainLines(input.prompt.trim())}</span>
          </>
        )}
      </div>
      <input
        ref={field}
        data-question={input.input_id}
        className="jp-Pernix-input"
        type={input.password ? 'password' : 'text'}
        autoComplete={input.password ? 'new-password' : 'off'}
        spellCheck={false}
        aria-labelledby={id}
        value={text}
        readOnly={sending}
        onChange={event => setText(event.target.value)}
        onKeyDown={event => {
          if (event.key === 'Enter' && !event.nativeEvent.isComposing) {
            event.preventDefault();
            // A key that is held down answered the line before.
            if (!event.repeat) {
              void answer(text);
            }
          }
        }}
      />
      {input.password && <div className="jp-Pernix-note">{INPUT.hidden}</div>}
      <div className="jp-Pernix-choices">
        <button
          type="button"
          className="jp-Pernix-button jp-mod-accept"
          aria-disabled={sending || quiet}
          onClick={() => !quiet && void answer(text)}
        >
          {INPUT.send}
        </button>
        <button
          type="button"
          className="jp-Pernix-button"
          title={INPUT.refuseMeans}
          aria-disabled={sending || quiet}
          onClick={() => !quiet && void answer(null)}
        >
          {INPUT.refuse}
        </button>
      </div>
    </div>
  );
}
