import * as React from 'react';
import type { CallView, Item, TurnView } from '../api/types.gen';
import type { StepDraft } from '../model/drafts';
import { CallCard, type CallCardProps } from './CallCard';
import { Foot, type FootProps } from './Foot';
import { Icon } from './icons';
import { Corrections, HostNotice, Notice } from './Notices';
import { PlanCard } from './PlanCard';
import { useRenderers } from './renderers';
import { Told } from './Told';

export interface TurnProps extends Omit<CallCardProps, 'call'>, Pick<FootProps, 'onFiles' | 'onUndo'> {
  turn: TurnView;
  /** It waits to ask again; the countdown says what its newest notice says. */
  waiting?: boolean;
  /** What is being written in this turn now. */
  draft: StepDraft | null;
  /** Takes up the work of this turn again; given for the last turn only. */
  onResume?: (() => void) | undefined;
  onDecideAll?: FootProps['onDecideAll'];
}

/** One request and everything that came of it. */
export const Turn = React.memo(function Turn(props: TurnProps): React.JSX.Element {
  const { onResume, onDecideAll, onFiles, onUndo, ...rest } = props;
  const { turn } = rest;
  return (
    <article className="jp-Pernix-turn" aria-label="Turn" data-code={turn.code ?? ''}>
      <div className="jp-Pernix-request" role="group" aria-label="Your message">
        {turn.text}
      </div>
      <Told turn={turn} />
      {turn.plan !== null && <PlanCard plan={turn.plan} running={turn.code === null} />}
      {partsOf(rest)}
      {turn.code !== null && (
        <Foot
          turn={turn}
          onResume={onResume}
          onDecideAll={onDecideAll}
          onFiles={onFiles}
          onUndo={onUndo}
          onOpenFile={rest.onOpenFile}
        />
      )}
    </article>
  );
});

function isRetry(item: Item): boolean {
  return item.type === 'notice' && item.kind === 'retry';
}

/**
 * What stands in a turn, in order. A text keeps its place on the page when it is done being written: what is stored of a step has the
 * key that its draft had, so a reader's place does not move.
 */
function partsOf(
  props: Omit<TurnProps, 'onResume' | 'onDecideAll' | 'onFiles' | 'onUndo'>
): React.JSX.Element[] {
  const { turn, waiting, draft, ...handlers } = props;
  const hidden = waiting === true ? turn.items.findLastIndex(isRetry) : -1;
  const taken = new Set<string>();
  const key = (wanted: string, index: number) => {
    const free = taken.has(wanted) ? `${wanted} ${index}` : wanted;
    taken.add(free);
    return free;
  };
  const parts = turn.items.flatMap((item, index) => {
    if (index === hidden) {
      return [];
    }
    switch (item.type) {
      case 'message':
        return [
          <Corrections key={`${index} corrections`} corrections={item.corrections} />,
          <Message key={key(`message ${item.step_id}`, index)} text={item.text} streaming={false} />
        ];
      case 'thought':
        return [<Thought key={key(`thought ${item.step_id}`, index)} text={item.text} streaming={false} />];
      default:
        return [<TurnItem key={keyOf(item, index)} item={item} handlers={handlers} />];
    }
  });
  if (draft === null) {
    return parts;
  }
  const { stepId, message, thought } = draft;
  return [
    ...parts,
    ...(thought.text ? [<Thought key={key(`thought ${stepId}`, -1)} text={thought.text} streaming />] : []),
    ...(message.text ? [<Message key={key(`message ${stepId}`, -1)} text={message.text} streaming />] : []),
    <DraftCalls key="calls" draft={draft} />
  ];
}

type OtherItem = Exclude<Item, { type: 'message' | 'thought' }>;

function keyOf(item: OtherItem, index: number): string | number {
  return item.type === 'call' ? item.call_id : index;
}

function TurnItem(props: {
  item: OtherItem;
  handlers: Omit<CallCardProps, 'call'>;
}): React.JSX.Element | null {
  const { item, handlers } = props;
  switch (item.type) {
    case 'call':
      return item.tool === 'finish' ? <FinishCall call={item} /> : <CallCard call={item} {...handlers} />;
    case 'problem':
      return <Notice text={item.text} hint={item.hint} />;
    case 'notice':
      return <HostNotice notice={item} />;
  }
}

/** The answer itself is a message; a call that failed to give one is worth a card. */
function FinishCall(props: { call: CallView }): React.JSX.Element | null {
  return props.call.status === 'failed' ? <CallCard call={props.call} /> : null;
}

const Message = React.memo(function Message(props: {
  text: string;
  streaming: boolean;
}): React.JSX.Element | null {
  const { Markdown } = useRenderers();
  if (!props.text.trim()) {
    return null;
  }
  return (
    <div className="jp-Pernix-message" role="group" aria-label="Answer">
      <Markdown text={props.text} streaming={props.streaming} />
    </div>
  );
});

function Thought(props: { text: string; streaming: boolean }): React.JSX.Element | null {
  if (!props.text.trim()) {
    return null;
  }
  return (
    <details className="jp-Pernix-thought">
      <summary>
        <Icon name="think" /> {props.streaming ? 'Thinking…' : 'Thought'}
      </summary>
      <div className="jp-Pernix-thoughtText">{props.text}</div>
    </details>
  );
}

function DraftCalls(props: { draft: StepDraft }): React.JSX.Element {
  const { draft } = props;
  return (
    <>
      {draft.calls.map((call, index) => (
        <div key={index} className="jp-Pernix-call jp-mod-draft">
          <div className="jp-Pernix-callHead">
            <Icon name="edit" />
            <span className="jp-Pernix-callTitle">Writing a call: {call.tool || '…'}</span>
          </div>
          <pre className="jp-Pernix-plain jp-mod-tail">{call.text.slice(-400)}</pre>
        </div>
      ))}
    </>
  );
}
