import * as React from 'react';
import type { TurnView } from '../api/types.gen';
import {
  type Bar,
  type Doing,
  shares,
  type StepTokens,
  ticks,
  type Trace as Picture,
  traceOf
} from '../model/trace';
import { useNow } from './hooks';
import { IconButton } from './icons';
import { count, duration, plain } from './words';

const DOINGS: Record<Doing | 'other', string> = {
  read: 'Model reading',
  write: 'Model writing',
  tool: 'Tools',
  wait: 'Waiting for you',
  other: 'Other'
};

const LANES: readonly { name: string; doings: readonly Doing[] }[] = [
  { name: 'Model', doings: ['read', 'write'] },
  { name: 'Tools', doings: ['tool'] },
  { name: 'You', doings: ['wait'] }
];

const SHOWN_STEPS = 24;

/** The turns of a session, one at a time, the newest first: where its time went and what the model read. `title`: what is said already. */
export function Trace(props: { turns: readonly TurnView[]; title?: string }): React.JSX.Element {
  const { turns, title = '' } = props;
  const [chosen, setChosen] = React.useState<string | null>(null);
  const found = turns.findIndex(turn => turn.turn_id === chosen);
  const at = found < 0 ? turns.length - 1 : found;
  const turn = turns[at];
  if (turn === undefined) {
    return <div className="jp-Pernix-dim">No turn yet.</div>;
  }
  // The newest is followed, whichever that is.
  const choose = (index: number) =>
    setChosen(index === turns.length - 1 ? null : (turns[index]?.turn_id ?? null));
  return (
    <div className="jp-Pernix-trace">
      <div className="jp-Pernix-traceHead" hidden={turns.length === 1 && turn.text.trim() === title}>
        {turns.length > 1 && (
          <>
            <IconButton icon="back" label="Earlier turn" disabled={at === 0} onClick={() => choose(at - 1)} />
            <span className="jp-Pernix-dim jp-Pernix-numbers">
              {at + 1}/{turns.length}
            </span>
            <IconButton
              icon="chevron"
              label="Later turn"
              disabled={at === turns.length - 1}
              onClick={() => choose(at + 1)}
            />
          </>
        )}
        <span className="jp-Pernix-traceText" title={plain(turn.text)}>
          {plain(turn.text)}
        </span>
      </div>
      <TurnTrace key={turn.turn_id} turn={turn} />
    </div>
  );
}

function TurnTrace(props: { turn: TurnView }): React.JSX.Element {
  const { turn } = props;
  const now = useNow(turn.started_at !== null && turn.finished_at === null);
  const trace = React.useMemo(() => traceOf(turn, now), [turn, now]);
  if (turn.started_at === null) {
    return (
      <div className="jp-Pernix-dim">
        {turn.finished_at === null ? 'It waits for its turn.' : 'It never began.'}
      </div>
    );
  }
  return (
    <>
      <Legend trace={trace} />
      <Axis trace={trace} />
      <Steps steps={trace.steps} />
    </>
  );
}

function Legend(props: { trace: Picture }): React.JSX.Element {
  const sums = shares(props.trace);
  const told = (Object.keys(DOINGS) as (keyof typeof DOINGS)[]).filter(
    doing => sums[doing] >= 0.0005 && (doing !== 'other' || sums.other >= 0.02 * props.trace.seconds)
  );
  return (
    <ul className="jp-Pernix-legend" aria-label="Where the time went">
      <li>
        <strong>{duration(props.trace.seconds)}</strong>
      </li>
      {told.map(doing => (
        <li key={doing}>
          <span className={`jp-Pernix-swatch jp-mod-${doing}`} aria-hidden="true" />
          {DOINGS[doing]} <span className="jp-Pernix-numbers">{duration(sums[doing])}</span>
        </li>
      ))}
    </ul>
  );
}

function Axis(props: { trace: Picture }): React.JSX.Element {
  const { trace } = props;
  const places = ticks(trace.seconds);
  const share = (seconds: number) => `${trace.seconds > 0 ? (100 * seconds) / trace.seconds : 0}%`;
  return (
    <div className="jp-Pernix-axis" role="img" aria-label="Time axis; the list above has its sums">
      {LANES.map(lane => {
        const bars = trace.bars.filter(bar => lane.doings.includes(bar.doing));
        return bars.length === 0 ? null : (
          <React.Fragment key={lane.name}>
            <span className="jp-Pernix-laneName">{lane.name}</span>
            <Lane bars={bars} places={places} share={share} />
          </React.Fragment>
        );
      })}
      <span />
      <div className="jp-Pernix-ticks">
        {places.map(place => (
          <span key={place} style={{ left: share(place) }}>
            {place === 0 ? '0' : duration(place)}
          </span>
        ))}
      </div>
    </div>
  );
}

const ROW_HEIGHT = 14;

function Lane(props: {
  bars: readonly Bar[];
  places: readonly number[];
  share: (seconds: number) => string;
}): React.JSX.Element {
  const { bars, places, share } = props;
  const rows = Math.max(...bars.map(bar => bar.row)) + 1;
  return (
    <div className="jp-Pernix-lane" style={{ height: rows * ROW_HEIGHT + 4 }}>
      {places.map(place => (
        <span key={place} className="jp-Pernix-grid" style={{ left: share(place) }} />
      ))}
      {bars.map((bar, index) => (
        <span
          key={index}
          className={`jp-Pernix-traceBar jp-mod-${bar.doing}${bar.open ? ' jp-mod-open' : ''}`}
          style={{ left: share(bar.start), width: share(bar.end - bar.start), top: bar.row * ROW_HEIGHT + 2 }}
          title={`${plain(bar.label)}: ${DOINGS[bar.doing].toLowerCase()}, ${duration(bar.end - bar.start)}${bar.open ? ' so far' : ''}, at ${duration(bar.start)}`}
        />
      ))}
    </div>
  );
}

/** Prompt tokens of each request: taken from the endpoint's cache, and computed. */
function Steps(props: { steps: readonly StepTokens[] }): React.JSX.Element | null {
  const known = props.steps.filter(step => step.prompt !== null);
  if (known.length === 0) {
    return null;
  }
  const shown = known.slice(-SHOWN_STEPS);
  const most = Math.max(1, ...shown.map(step => step.prompt ?? 0));
  return (
    <table className="jp-Pernix-steps">
      <caption>
        Prompt tokens: <span className="jp-Pernix-swatch jp-mod-cached" aria-hidden="true" /> from the cache,{' '}
        <span className="jp-Pernix-swatch jp-mod-computed" aria-hidden="true" /> computed
        {known.length > shown.length && `; the last ${shown.length} of ${known.length} requests`}
      </caption>
      <thead>
        <tr>
          <th scope="col">Request</th>
          <th scope="col" aria-label="Prompt tokens as a bar" />
          <th scope="col">Prompt</th>
          <th scope="col">Cached</th>
          <th scope="col">Written</th>
          <th scope="col">Time</th>
        </tr>
      </thead>
      <tbody>
        {shown.map((step, index) => (
          <StepRow key={index} step={step} most={most} />
        ))}
      </tbody>
    </table>
  );
}

function StepRow(props: { step: StepTokens; most: number }): React.JSX.Element {
  const { step, most } = props;
  const prompt = step.prompt ?? 0;
  const cached = Math.min(step.cached ?? 0, prompt);
  const width = (tokens: number) => ({ width: `${(100 * tokens) / most}%` });
  return (
    <tr>
      <th scope="row">{step.label}</th>
      <td className="jp-Pernix-tokenBar">
        <span className="jp-mod-cached" style={width(cached)} />
        <span className="jp-mod-computed" style={width(prompt - cached)} />
      </td>
      <td title={prompt.toLocaleString()}>{count(prompt)}</td>
      <td>
        {step.cached === null ? 'not told' : prompt > 0 ? `${Math.floor((100 * cached) / prompt)}%` : '–'}
      </td>
      <td>{step.written === null ? '–' : count(step.written)}</td>
      <td>{step.seconds === null ? '–' : duration(step.seconds)}</td>
    </tr>
  );
}
