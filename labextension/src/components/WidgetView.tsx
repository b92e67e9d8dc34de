/** The widgets of notebooks, drawn from their state: live in a bundle of their own, and as a still picture in JupyterLab. */
import * as React from 'react';
import type { CallView, GpuDevices, SessionView, TurnView } from '../api/types.gen';
import { BudgetBars, type Used } from './BudgetBars';
import { CallCard } from './CallCard';
import { ContextGauge } from './ContextGauge';
import { Foot } from './Foot';
import { MomentContext } from './hooks';
import { RenderersContext } from './renderers';
import { STILL } from './still';
import { Trace } from './Trace';
import { Vram } from './Vram';
import { clockTime, plain, STATES, stateWords } from './words';

export type WidgetKind = 'tool_calls' | 'trace' | 'budget' | 'vram';

/** Reads one of the state's entries: a trait of the live widget, or a field of its picture. */
export type Get = (name: string) => unknown;

export interface WidgetViewProps {
  kind: WidgetKind;
  get: Get;
  /** When the picture was taken; `null`: it is live. */
  takenAt: string | null;
  /** The kernel has not answered. */
  silent?: boolean;
}

/** How a widget stands with the server, or with time. */
interface Link {
  state: string;
  text: string;
}

function entries<T>(get: Get): T[] {
  const order = get('order');
  const found = Array.isArray(order) ? order.map(at => get(`entry${String(at)}`)) : [];
  return found.filter(entry => typeof entry === 'object' && entry !== null) as T[];
}

export function WidgetView(props: WidgetViewProps): React.JSX.Element {
  return (
    <Boundary>
      <RenderersContext.Provider value={STILL}>
        <MomentContext.Provider value={props.takenAt === null ? null : Date.parse(props.takenAt)}>
          <div className="jp-PernixWidget">
            <div className="jp-PernixWidget-inner" data-kind={props.kind}>
              <Head {...props} />
              <Body {...props} />
            </div>
          </div>
        </MomentContext.Provider>
      </RenderersContext.Provider>
    </Boundary>
  );
}

const NAMES: Record<WidgetKind, string> = {
  tool_calls: 'Tool calls',
  trace: 'Trace',
  budget: 'Budget',
  vram: 'GPU memory'
};

function Head(props: WidgetViewProps): React.JSX.Element {
  const { kind, get, takenAt, silent = false } = props;
  const view = kind === 'vram' ? null : (get('session') as SessionView);
  const link = get('link') as Link | undefined;
  const note =
    takenAt !== null
      ? `Not live: as it was on ${new Date(takenAt).toLocaleDateString()} at ${clockTime(takenAt)}. Run the cell to follow it.`
      : link?.state === 'away'
        ? `The server does not answer. This is how it was; the widget goes on when the server is back. (${link.text})`
        : link?.state === 'lost'
          ? `The server gives nothing more: ${link.text}`
          : silent
            ? 'The kernel has not answered yet: it is busy, or this is how it was when the notebook was saved.'
            : '';
  return (
    <>
      <header className="jp-PernixWidget-head">
        <span className="jp-Pernix-dim">{NAMES[kind]}</span>
        {view !== null && (
          <>
            <strong className="jp-PernixWidget-title" title={view.session_id}>
              {plain(view.title) || 'Untitled session'}
            </strong>
            <span className={`jp-Pernix-chip jp-mod-${STATES[view.state].tone}`}>{stateWords(view)}</span>
          </>
        )}
      </header>
      {note && (
        <div className="jp-Pernix-note jp-PernixWidget-note" role="status">
          {note}
        </div>
      )}
    </>
  );
}

function Body(props: WidgetViewProps): React.JSX.Element {
  const { kind, get } = props;
  switch (kind) {
    case 'tool_calls':
      return <Calls calls={entries<CallView>(get)} follow={props.takenAt === null} />;
    case 'trace':
      return <Trace turns={entries<TurnView>(get)} title={(get('session') as SessionView).title} />;
    case 'budget': {
      const [turn] = entries<TurnView>(get);
      return (
        <>
          <div className="jp-PernixWidget-context">
            <span className="jp-Pernix-dim">Context</span>
            <ContextGauge view={get('session') as SessionView} />
          </div>
          <BudgetBars used={get('used') as Used[]} />
          {turn && <Foot turn={turn} onResume={undefined} />}
        </>
      );
    }
    case 'vram':
      return <Vram gpus={get('gpus') as GpuDevices} ownPid={Number(get('kernel_pid')) || 0} />;
  }
}

function Calls(props: { calls: readonly CallView[]; follow: boolean }): React.JSX.Element {
  const { calls } = props;
  const list = useNewest(calls.length, props.follow);
  if (calls.length === 0) {
    return <div className="jp-Pernix-dim">No tool call yet.</div>;
  }
  const asked = calls.some(call => call.approval !== null && call.approval.choice === null);
  return (
    <>
      <div ref={list} className="jp-PernixWidget-calls" role="group" aria-label="Tool calls" tabIndex={0}>
        {calls.map(call => (
          <CallCard key={call.call_id} call={call} />
        ))}
      </div>
      {asked && props.follow && <div className="jp-Pernix-note">Its question is answered in the panel.</div>}
    </>
  );
}

/** The list stays at its newest entry when that was in sight. */
function useNewest(length: number, follow: boolean): React.RefObject<HTMLDivElement> {
  const list = React.useRef<HTMLDivElement>(null);
  const before = React.useRef(0);
  React.useLayoutEffect(() => {
    const node = list.current;
    if (follow && node !== null) {
      const seen = before.current - node.scrollTop - node.clientHeight < 40;
      before.current = node.scrollHeight;
      if (seen) {
        node.scrollTop = node.scrollHeight;
      }
    }
  }, [length, follow]);
  return list;
}

/** A notebook may hold anything in the place of a state. */
class Boundary extends React.Component<{ children: React.ReactNode }, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError(): { failed: boolean } {
    return { failed: true };
  }

  override render(): React.ReactNode {
    return this.state.failed ? (
      <div className="jp-Pernix-note">What the notebook keeps of this widget cannot be shown.</div>
    ) : (
      this.props.children
    );
  }
}
