import * as React from 'react';
import type { SessionView, Waiting } from '../api/types.gen';
import { useNow } from './hooks';
import { Icon } from './icons';
import { duration, plain, secondsBetween, secondsLeft, sentence, STATES } from './words';

export interface ActivityProps {
  view: SessionView;
  /** Goes on with a paused turn. */
  onResume: () => void;
}

/** What goes on right now, at the end of the conversation. */
export function Activity(props: ActivityProps): React.JSX.Element | null {
  const { view } = props;
  if (view.state === 'paused') {
    return <Paused {...props} />;
  }
  if (view.waiting !== null) {
    return <Countdown waiting={view.waiting} />;
  }
  return STATES[view.state].tone === 'busy' ? <Busy view={view} /> : null;
}

function Busy(props: { view: SessionView }): React.JSX.Element {
  const { view } = props;
  const now = useNow(true);
  return (
    <div className="jp-Pernix-activity" aria-hidden="true">
      <span className="jp-Pernix-pulse" />
      {STATES[view.state].label} · {duration(Math.floor(secondsBetween(view.state_since, now)) || 1)}
    </div>
  );
}

function Countdown(props: { waiting: Waiting }): React.JSX.Element {
  const { waiting } = props;
  const left = secondsLeft(waiting, useNow(true));
  return (
    <div className="jp-Pernix-waiting" role="group" aria-label="Waiting">
      <Icon name="clock" />
      <span>{sentence(plain(waiting.text))}</span>
      <span className="jp-Pernix-left" aria-hidden="true">
        {left > 0 ? `${duration(left)} left` : 'now'}
      </span>
    </div>
  );
}

function Paused(props: ActivityProps): React.JSX.Element {
  return (
    <div className="jp-Pernix-waiting" role="group" aria-label="Paused">
      <Icon name="pause" />
      <span>Paused until you resume it.</span>
      <button type="button" className="jp-Pernix-button jp-mod-accept" onClick={props.onResume}>
        Resume
      </button>
    </div>
  );
}
