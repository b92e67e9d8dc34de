import * as React from 'react';
import type { ApprovalChoice, ApprovalView } from '../api/types.gen';
import { ASKED, answerWords, CHOICES, expiryWords, ruleWords } from './gatewords';
import { useNow } from './hooks';
import { useQuiet } from './quiet';
import { plain, plainLines } from './words';

export interface ApprovalProps {
  approval: ApprovalView;
  /** True when the answer is stored. `rules`: which of the offered ones to remember, `null`: all. */
  onAnswer: (
    approvalId: string,
    choice: ApprovalChoice,
    text: string,
    rules: string[] | null
  ) => Promise<boolean>;
}

/** A question about a call: its buttons, or how it was answered. */
export function Approval(props: ApprovalProps): React.JSX.Element {
  const { approval } = props;
  if (approval.choice === null) {
    return <OpenApproval {...props} />;
  }
  return <div className="jp-Pernix-answered">{answerWords(approval)}</div>;
}

/** A question in a record, with its answer; nobody can answer it there. */
export function ApprovalRecord(props: { approval: ApprovalView }): React.JSX.Element {
  const { approval } = props;
  return (
    <div className="jp-Pernix-asked" role="group" aria-label={plain(approval.question)}>
      <div className="jp-Pernix-question">{plain(approval.question)}</div>
      <Reasons approval={approval} />
      {approval.detail && <Frozen text={approval.detail} />}
      <div className="jp-Pernix-answered">{answerWords(approval)}</div>
    </div>
  );
}

/** Why a person is asked, and what was seen in the code. */
function Reasons(props: { approval: ApprovalView; id?: string }): React.JSX.Element | null {
  const { approval, id } = props;
  if (approval.why === '' && approval.effects.length === 0) {
    return null;
  }
  return (
    <div className="jp-Pernix-reasons" id={id}>
      {approval.why !== '' && (
        <div>
          <span className="jp-Pernix-dim">{ASKED.why}</span> {plain(approval.why)}
        </div>
      )}
      {approval.effects.length > 0 && (
        <div>
          <span className="jp-Pernix-dim">{ASKED.effects}</span> {approval.effects.map(plain).join(', ')}
        </div>
      )}
    </div>
  );
}

/** The text as it was when it was asked about; nothing in it can hide. */
function Frozen(props: { text: string; id?: string }): React.JSX.Element {
  return (
    <pre className="jp-Pernix-plain jp-Pernix-frozen" id={props.id} tabIndex={0} aria-label={ASKED.text}>
      {plainLines(props.text)}
    </pre>
  );
}

function OpenApproval(props: ApprovalProps): React.JSX.Element {
  const { approval, onAnswer } = props;
  const [text, setText] = React.useState('');
  const [sending, setSending] = React.useState(false);
  const [left, setLeft] = React.useState<ReadonlySet<string>>(new Set());
  const id = React.useId();
  const group = React.useRef<HTMLDivElement>(null);
  const quiet = useQuiet();
  useFocusOfCard(group);
  const remembered = approval.rules.filter(rule => !left.has(rule));
  const needsRule = approval.rules.length > 0 && remembered.length === 0;
  const blocked = (choice: ApprovalChoice) => sending || quiet || (needsRule && REMEMBERS.has(choice));
  const answer = async (choice: ApprovalChoice) => {
    if (sending) {
      return;
    }
    setSending(true);
    const words = choice.startsWith('reject') ? text.trim() : '';
    const rules = REMEMBERS.has(choice) && left.size > 0 ? remembered : null;
    if (!(await onAnswer(approval.approval_id, choice, words, rules))) {
      setSending(false);
    }
  };
  const about = `${id}-text ${id}-why`;
  return (
    <div
      className="jp-Pernix-approval"
      role="group"
      aria-labelledby={id}
      aria-describedby={about}
      data-question={approval.approval_id}
      tabIndex={-1}
      ref={group}
      onKeyDown={event => {
        // It would stop the whole turn, which is more than an answer to this.
        if (event.key === 'Escape') {
          event.stopPropagation();
        }
      }}
    >
      <div className="jp-Pernix-question" id={id}>
        {plain(approval.question)}
      </div>
      <Reasons approval={approval} id={`${id}-why`} />
      {approval.detail !== '' && <Frozen text={approval.detail} id={`${id}-text`} />}
      <Remembered approval={approval} left={left} onLeft={setLeft} disabled={sending} />
      <div className="jp-Pernix-choices">
        {approval.choices.map((choice, index) => (
          <button
            key={choice}
            type="button"
            className={index === 0 ? 'jp-Pernix-button jp-mod-accept' : 'jp-Pernix-button'}
            title={needsRule && REMEMBERS.has(choice) ? ASKED.nothing : CHOICES[choice].means}
            aria-disabled={blocked(choice)}
            aria-describedby={about}
            onClick={() => !blocked(choice) && void answer(choice)}
          >
            {CHOICES[choice].label}
          </button>
        ))}
      </div>
      <input
        className="jp-Pernix-input"
        aria-label={ASKED.instead}
        placeholder={ASKED.insteadMeans}
        value={text}
        readOnly={sending}
        onChange={event => setText(event.target.value)}
        onKeyDown={event => {
          if (event.key === 'Enter' && text.trim() && !event.nativeEvent.isComposing) {
            event.preventDefault();
            // Whoever has written here means this question, also while buttons around it come and go.
            void answer('reject_once');
          }
        }}
      />
      <Expiry expires={approval.expires_at} />
    </div>
  );
}

const REMEMBERS: ReadonlySet<ApprovalChoice> = new Set(['allow_session', 'allow_always']);

/** The rules that come with a lasting yes; each can be left out where there are several. */
function Remembered(props: {
  approval: ApprovalView;
  left: ReadonlySet<string>;
  onLeft: (left: ReadonlySet<string>) => void;
  disabled: boolean;
}): React.JSX.Element | null {
  const { left, onLeft, disabled } = props;
  const { rules, choices } = props.approval;
  const label = choices.includes('allow_always') ? ASKED.remember : ASKED.rememberSession;
  const id = React.useId();
  const [only] = rules;
  if (only === undefined) {
    return null;
  }
  if (rules.length === 1) {
    return (
      <div className="jp-Pernix-remembered">
        <span className="jp-Pernix-dim">{label}</span> {ruleWords(only)}
      </div>
    );
  }
  const toggle = (rule: string) => {
    const now = new Set(left);
    if (!now.delete(rule)) {
      now.add(rule);
    }
    onLeft(now);
  };
  return (
    <div className="jp-Pernix-remembered" role="group" aria-labelledby={id}>
      <span className="jp-Pernix-dim" id={id}>
        {label}
      </span>
      {rules.map(rule => (
        <label key={rule} className="jp-Pernix-check">
          <input
            type="checkbox"
            checked={!left.has(rule)}
            disabled={disabled}
            onChange={() => toggle(rule)}
          />
          <span>{ruleWords(rule)}</span>
        </label>
      ))}
    </div>
  );
}

/** How long it still waits, once that is short. */
function Expiry(props: { expires: string | null }): React.JSX.Element | null {
  const now = useNow(props.expires !== null);
  const words = expiryWords(props.expires, now);
  return words === '' ? null : (
    <div className="jp-Pernix-dim" role="note">
      {words}
    </div>
  );
}

/** Answered, the buttons go; whoever used them by keyboard goes on from their card. */
function useFocusOfCard(group: React.RefObject<HTMLDivElement>): void {
  React.useLayoutEffect(() => {
    const node = group.current;
    return () => {
      if (node?.contains(document.activeElement)) {
        node
          .closest('.jp-Pernix-call')
          ?.querySelector<HTMLElement>('.jp-Pernix-callHead')
          ?.focus({ preventScroll: true });
      }
    };
  }, [group]);
}
