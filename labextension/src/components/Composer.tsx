import * as React from 'react';
import type {
  EndpointInfo,
  Mention,
  Mode,
  SessionState,
  SessionView,
  TurnView,
  Variable
} from '../api/types.gen';
import { ContextGauge } from './ContextGauge';
import { modeWords } from './gatewords';
import { Icon } from './icons';
import { useMentions } from './Mentions';
import { Queue } from './Queue';
import { endpointWords, MODES } from './words';

export interface ComposerProps {
  view: SessionView;
  queued: readonly TurnView[];
  endpoints: readonly EndpointInfo[];
  /** The text that was not sent before. */
  draft: string;
  onDraft: (text: string) => void;
  /** True when the message is safe; the text stays otherwise. */
  onSend: (text: string, mentions: Mention[]) => Promise<boolean>;
  /** The variables that a message can mention; none when they cannot be told. */
  onVariables?: () => Promise<readonly Variable[]>;
  onStop: () => void;
  /** A pause was asked for and the state cannot show it yet. */
  pausing?: boolean;
  onPause: () => void;
  onResume: () => void;
  onWithdraw: (turnId: string) => void;
  /** True when the new text of a queued message is safe. */
  onEdit: (turnId: string, text: string) => Promise<boolean>;
  onCompact: () => void;
  onMode: (mode: Mode) => void;
  onEndpoint: (name: string) => void;
  /** Increases when the text field should take the focus. */
  focus: number;
}

/** Where the user writes: message, mode, model, context, queue. */
export function Composer(props: ComposerProps): React.JSX.Element {
  const { view, queued, draft, onDraft, onSend, onStop } = props;
  const field = React.useRef<HTMLTextAreaElement>(null);
  const [text, setText] = React.useState(draft);
  const [sending, setSending] = React.useState(false);
  const busy = view.state !== 'idle_ready';
  const inTurn = view.turns.some(turn => turn.started_at !== null && turn.code === null);
  const stopping = view.state === 'cancelling' || view.state === 'finalizing';

  // The draft is taken over when another session is shown; its later values are what was typed here.
  React.useEffect(() => setText(draft), [view.session_id]); // eslint-disable-line react-hooks/exhaustive-deps
  React.useEffect(() => field.current?.focus(), [props.focus]);
  useHeightOfText(field, text);

  const write = (value: string) => {
    setText(value);
    onDraft(value);
  };
  const mentions = useMentions({ field, text, onText: write, load: props.onVariables ?? NO_VARIABLES });
  const send = async () => {
    const message = text.trim();
    if (!message || sending) {
      return;
    }
    setSending(true);
    const safe = await onSend(message, await mentions.mentionsIn(message));
    setSending(false);
    if (safe) {
      // What was typed while it was being sent stays.
      setText(now => (now.trim() === message ? '' : now));
      onDraft('');
    }
  };
  /** Do what a button is for that goes away with it: the focus waits in the text field. */
  const leave = (action: () => void) => {
    action();
    field.current?.focus();
  };
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.nativeEvent.isComposing || mentions.onKeyDown(event)) {
      return;
    }
    if (event.key === 'Enter' && !event.shiftKey && !event.altKey && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      void send();
    }
  };

  return (
    <div className="jp-Pernix-composer">
      <Queue
        turns={queued}
        onWithdraw={turnId => leave(() => props.onWithdraw(turnId))}
        onEdit={props.onEdit}
        onLost={lost => write(text.trim() === '' ? lost : `${text}\n${lost}`)}
      />
      {mentions.list}
      <div className="jp-Pernix-writing">
        <textarea
          ref={field}
          className="jp-Pernix-field"
          aria-label="Message"
          placeholder={busy ? 'Queue the next message' : 'What should be done?'}
          rows={1}
          value={text}
          onChange={event => {
            write(event.target.value);
            mentions.onMove();
          }}
          onSelect={mentions.onMove}
          onBlur={mentions.onLeave}
          onKeyDown={onKeyDown}
          {...mentions.aria}
        />
        <div className="jp-Pernix-sendRow">
          {inTurn && !stopping && (
            <PauseButton
              held={props.pausing === true || HELD.has(view.state)}
              onPause={props.onPause}
              onResume={props.onResume}
            />
          )}
          {busy && (
            <button
              type="button"
              className="jp-Pernix-send jp-mod-stop"
              aria-label="Stop"
              title="Stop (Esc)"
              disabled={stopping}
              onClick={() => leave(onStop)}
            >
              <Icon name="stop" />
            </button>
          )}
          <button
            type="button"
            className="jp-Pernix-send"
            aria-label="Send"
            title={busy ? 'Put in the queue (Enter)' : 'Send (Enter)'}
            disabled={!text.trim() || sending}
            onClick={() => leave(() => void send())}
          >
            <Icon name="send" />
          </button>
        </div>
      </div>
      <div className="jp-Pernix-settings">
        <ModeSelect view={view} onMode={props.onMode} />
        <EndpointSelect {...props} />
        <ContextGauge view={view} onCompact={props.onCompact} />
      </div>
    </div>
  );
}

const NO_VARIABLES = () => Promise.resolve([]);

const HELD: ReadonlySet<SessionState> = new Set<SessionState>(['paused', 'pause_requested']);

/** One button that holds a turn and lets it go on, so that the focus stays on it. */
function PauseButton(props: { held: boolean; onPause: () => void; onResume: () => void }): React.JSX.Element {
  const { held, onPause, onResume } = props;
  return (
    <button
      type="button"
      className="jp-Pernix-send jp-mod-pause"
      aria-label={held ? 'Resume the turn' : 'Pause'}
      title={held ? 'Go on' : 'Pause after this step'}
      onClick={held ? onResume : onPause}
    >
      <Icon name={held ? 'play' : 'pause'} />
    </button>
  );
}

/** Let a field be as high as its text, up to a limit, also when its width changes. */
function useHeightOfText(field: React.RefObject<HTMLTextAreaElement>, text: string): void {
  const fit = React.useCallback(() => {
    const node = field.current;
    if (node !== null && node.clientWidth > 0) {
      node.style.height = '0';
      node.style.height = `${Math.min(node.scrollHeight, 220)}px`;
    }
  }, [field]);
  React.useLayoutEffect(fit, [fit, text]);
  React.useEffect(() => {
    if (field.current === null || typeof ResizeObserver === 'undefined') {
      return;
    }
    let width = 0;
    const observer = new ResizeObserver(([entry]) => {
      const now = entry?.contentRect.width ?? 0;
      if (now !== width) {
        width = now;
        fit();
      }
    });
    observer.observe(field.current);
    return () => observer.disconnect();
  }, [field, fit]);
}

function ModeSelect(props: { view: SessionView; onMode: (mode: Mode) => void }): React.JSX.Element {
  const modes = Object.keys(MODES) as Mode[];
  return (
    <select
      className="jp-Pernix-select"
      aria-label="Mode"
      title={modeWords(props.view)}
      value={props.view.mode}
      onChange={event => {
        const mode = modes.find(name => name === event.target.value);
        if (mode !== undefined) {
          props.onMode(mode);
        }
      }}
    >
      {modes.map(mode => (
        <option key={mode} value={mode} title={MODES[mode].means}>
          {MODES[mode].label}
        </option>
      ))}
    </select>
  );
}

function EndpointSelect(props: Pick<ComposerProps, 'view' | 'endpoints' | 'onEndpoint'>): React.JSX.Element {
  const { view, endpoints, onEndpoint } = props;
  const chosen = view.endpoint ?? '';
  const usual = endpoints.find(entry => entry.default);
  const choices = endpoints.filter(entry => entry.kind !== 'tour' || entry.name === chosen);
  const known = choices.some(entry => entry.name === chosen);
  return (
    <select
      className="jp-Pernix-select jp-mod-grow"
      aria-label="Model"
      title="Which model answers"
      value={chosen}
      onChange={event => onEndpoint(event.target.value)}
    >
      {chosen === '' && (
        <option value="">{usual ? `Default: ${endpointWords(usual)}` : 'Default model'}</option>
      )}
      {chosen !== '' && !known && <option value={chosen}>{chosen} (not configured)</option>}
      {choices.map(entry => (
        <option key={entry.name} value={entry.name} disabled={entry.status === 'failed'}>
          {endpointWords(entry)}
          {entry.status === 'failed' ? ' (failed)' : ''}
        </option>
      ))}
    </select>
  );
}
