import * as React from 'react';
import type { ApprovalChoice, ApprovalView } from '../api/types.gen';
import { answerWords, CHOICES, plain } from './words';

export interface ApprovalProps {
  approval: ApprovalView;
  /** What stands in sight beside the question already. */
  shown?: string;
  /** True when the answer is stored. */
  onAnswer: (approvalId: string, choice: ApprovalChoice, text: string) => Promise<boolean>;
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
      {approval.detail && <pre className="jp-Pernix-plain">{approval.detail}</pre>}
      <div className="jp-Pernix-answered">{answerWords(approval)}</div>
    </div>
  );
}

function OpenApproval(props: ApprovalProps): React.JSX.Element {
  const { approval, onAnswer, shown } = props;
  const [text, setText] = React.useState('');
  const [sending, setSending] = React.useState(false);
  const id = React.useId();
  const group = React.useRef<HTMLDivElement>(null);
  React.useLayoutEffect(() => {
    const node = group.current;
    // Answered, the buttons go; whoever used them by keyboard goes on from their card.
    return () => {
      if (node?.contains(document.activeElement)) {
        node
          .closest('.jp-Pernix-call')
          ?.querySelector<HTMLElement>('.jp-Pernix-callHead')
          ?.focus({ preventScroll: true });
      }
    };
  }, []);
  const answer = async (choice: ApprovalChoice) => {
    if (sending) {
      return;
    }
    setSending(true);
    const stored = await onAnswer(
      approval.approval_id,
      choice,
      choice.startsWith('reject') ? text.trim() : ''
    );
    if (!stored) {
      setSending(false);
    }
  };
  return (
    <div className="jp-Pernix-approval" role="group" aria-labelledby={id} ref={group}>
      <div className="jp-Pernix-question" id={id}>
        {plain(approval.question)}
      </div>
      {approval.detail && approval.detail.trim() !== shown?.trim() && (
        <pre className="jp-Pernix-plain">{approval.detail}</pre>
      )}
      <div className="jp-Pernix-choices">
        {approval.choices.map((choice, index) => (
          <button
            key={choice}
            type="button"
            className={index === 0 ? 'jp-Pernix-button jp-mod-accept' : 'jp-Pernix-button'}
            aria-disabled={sending}
            onClick={() => void answer(choice)}
          >
            {CHOICES[choice].label}
          </button>
        ))}
      </div>
      <input
        className="jp-Pernix-input"
        aria-label="What to do instead"
        placeholder="What to do instead (goes with Reject)"
        value={text}
        readOnly={sending}
        onChange={event => setText(event.target.value)}
        onKeyDown={event => {
          if (event.key === 'Enter' && text.trim() && !event.nativeEvent.isComposing) {
            event.preventDefault();
            void answer('reject_once');
          }
        }}
      />
    </div>
  );
}
