import * as React from 'react';
import type { SessionView } from '../api/types.gen';
import type { Drafts } from '../model/drafts';
import { budgetLeft } from '../model/budget';
import { Activity } from './Activity';
import { BudgetLine } from './Foot';
import { Icon } from './icons';
import { Turn, type TurnProps } from './Turn';

export interface TranscriptProps extends Omit<TurnProps, 'turn' | 'waiting' | 'draft' | 'onResume'> {
  view: SessionView;
  drafts: Drafts;
  onResume: () => void;
  /** Shown while there is no turn yet. */
  children?: React.ReactNode;
}

const NEAR = 48;

/** The conversation: it follows what is written unless the reader has scrolled up. */
export function Transcript(props: TranscriptProps): React.JSX.Element {
  const { view, drafts, onResume, children, ...handlers } = props;
  const box = React.useRef<HTMLDivElement>(null);
  const inner = React.useRef<HTMLDivElement>(null);
  const follows = React.useRef(true);
  const top = React.useRef(0);
  const [away, setAway] = React.useState(false);
  const shown = view.turns.filter(turn => turn.started_at !== null || turn.code !== null);
  const last = shown[shown.length - 1];
  const left = React.useMemo(() => budgetLeft(view), [view]);

  const toEnd = React.useCallback(() => {
    follows.current = true;
    setAway(false);
    box.current?.scrollTo({ top: box.current.scrollHeight });
  }, []);

  React.useLayoutEffect(toEnd, [toEnd, view.session_id]);
  React.useEffect(() => {
    if (inner.current === null || typeof ResizeObserver === 'undefined') {
      return;
    }
    const observer = new ResizeObserver(() => {
      if (follows.current) {
        box.current?.scrollTo({ top: box.current.scrollHeight });
      }
    });
    observer.observe(inner.current);
    return () => observer.disconnect();
  }, []);

  const onScroll = () => {
    const node = box.current;
    if (node === null) {
      return;
    }
    // Only a reader moves upwards; what grows below moves nothing.
    const near = node.scrollHeight - node.scrollTop - node.clientHeight < NEAR;
    follows.current = near || (follows.current && node.scrollTop >= top.current);
    top.current = node.scrollTop;
    setAway(!follows.current);
  };

  return (
    <div className="jp-Pernix-transcriptFrame">
      <div
        className="jp-Pernix-transcript"
        ref={box}
        onScroll={onScroll}
        role="region"
        aria-label="Conversation"
        tabIndex={0}
      >
        <div ref={inner}>
          {shown.length === 0 && children}
          {shown.map(turn => (
            <Turn
              key={turn.turn_id}
              turn={turn}
              waiting={turn === last && view.waiting !== null}
              draft={drafts?.turnId === turn.turn_id ? drafts : null}
              onResume={turn === last && view.state === 'idle_ready' ? onResume : undefined}
              {...handlers}
            />
          ))}
          <BudgetLine left={left} />
          <Activity view={view} onResume={onResume} />
        </div>
      </div>
      {away && (
        <button
          type="button"
          className="jp-Pernix-toEnd"
          onClick={() => {
            toEnd();
            box.current?.focus({ preventScroll: true });
          }}
        >
          <Icon name="down" /> Jump to latest
        </button>
      )}
    </div>
  );
}
