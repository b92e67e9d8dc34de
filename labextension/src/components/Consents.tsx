import * as React from 'react';
import type { GivenConsent, Permissions, WaitingCommand } from '../api/types.gen';
import { IconButton } from './icons';
import { plain, plainLines } from './words';

const TITLE = 'Commands of this folder';

export interface ConsentsProps {
  /** `null` until they were read. */
  permissions: Permissions | null;
  onGive: (digest: string) => void;
  onTake: (digest: string) => void;
}

/** What the folder's own configuration asks to start: nothing of it is started before its user has seen it and said yes. */
export function Consents(props: ConsentsProps): React.JSX.Element | null {
  const { permissions, onGive, onTake } = props;
  const section = React.useRef<HTMLElement>(null);
  if (permissions === null || permissions.waiting.length + permissions.consents.length === 0) {
    return null;
  }
  // The button goes with the answer.
  const answered = (answer: () => void) => {
    answer();
    section.current?.focus({ preventScroll: true });
  };
  return (
    <section aria-label={TITLE} ref={section} tabIndex={-1}>
      <h3>{TITLE}</h3>
      {permissions.waiting.length > 0 && (
        <p className="jp-Pernix-dim">
          Files of this folder ask to start these around the agent’s calls. None is started before you allow
          it, and when anything of it changes, it waits again.
        </p>
      )}
      <ul className="jp-Pernix-list">
        {permissions.waiting.map(one => (
          <Waiting key={one.digest} command={one} onGive={() => answered(() => onGive(one.digest))} />
        ))}
        {permissions.consents.map(one => (
          <Given key={one.digest} consent={one} onTake={() => answered(() => onTake(one.digest))} />
        ))}
      </ul>
    </section>
  );
}

function Waiting(props: { command: WaitingCommand; onGive: () => void }): React.JSX.Element {
  const { command, onGive } = props;
  const added = Object.entries(command.environ).map(([name, value]) => `${name}=${value}`);
  return (
    <li className="jp-Pernix-consent">
      <pre className="jp-Pernix-consentCommand" tabIndex={0} aria-label="Command that waits">
        {plainLines(command.command)}
      </pre>
      <div className="jp-Pernix-dim">Asked for by {plain(command.origin)}</div>
      {command.scripts.map(script => (
        <div key={script} className="jp-Pernix-dim">
          Runs {plain(script)}
        </div>
      ))}
      {added.map(one => (
        <div key={one} className="jp-Pernix-dim">
          With {plain(one)}
        </div>
      ))}
      <button
        type="button"
        className="jp-Pernix-button"
        aria-label={`Allow to start: ${plain(command.command)}`}
        onClick={onGive}
      >
        Allow to start
      </button>
    </li>
  );
}

function Given(props: { consent: GivenConsent; onTake: () => void }): React.JSX.Element {
  const { consent, onTake } = props;
  return (
    <li className="jp-Pernix-rule">
      <span className="jp-Pernix-ruleText">
        {plain(consent.command)} <span className="jp-Pernix-dim">may be started</span>
      </span>
      <IconButton icon="close" label={`Do not start any more: ${plain(consent.command)}`} onClick={onTake} />
    </li>
  );
}
