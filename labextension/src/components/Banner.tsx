import * as React from 'react';
import type { Connection } from '../api/stream';
import type { Trouble } from '../api/transport';
import { useNow } from './hooks';
import { IconButton } from './icons';
import { duration, sentence } from './words';

/** What failed and what to do; nothing is lost by closing it. */
export function TroubleBanner(props: {
  trouble: Trouble | null;
  onDismiss: () => void;
  onRetry?: (() => void) | undefined;
}): React.JSX.Element | null {
  const { trouble, onDismiss, onRetry } = props;
  if (trouble === null) {
    return null;
  }
  return (
    <div className="jp-Pernix-banner jp-mod-trouble" role="alert">
      <div className="jp-Pernix-bannerText">
        {sentence(trouble.message)}
        {trouble.hint && <div className="jp-Pernix-hint">{sentence(trouble.hint)}</div>}
      </div>
      {onRetry && (
        <button type="button" className="jp-Pernix-button" onClick={onRetry}>
          Try again
        </button>
      )}
      <IconButton icon="close" label="Dismiss" onClick={onDismiss} />
    </div>
  );
}

/** Says that the page is cut off from the server, since when, and when it tries again. */
export function ConnectionBanner(props: {
  connection: Connection;
  onWake: () => void;
}): React.JSX.Element | null {
  const { connection, onWake } = props;
  const lost = connection.status === 'lost';
  const now = useNow(lost);
  if (!lost || now - connection.since < 1500) {
    return null;
  }
  const wait = Math.max(0, Math.ceil((connection.retryAt - now) / 1000));
  return (
    <div className="jp-Pernix-banner" role="status" aria-label="Connection">
      <div className="jp-Pernix-bannerText">
        Connection lost for {duration(Math.round((now - connection.since) / 1000) || 1)}. This page catches up
        when the server is back.
        <div className="jp-Pernix-hint" aria-hidden="true">
          {wait > 0 ? `Next try in ${wait} s` : 'Trying now…'}
        </div>
      </div>
      <button type="button" className="jp-Pernix-button" onClick={onWake}>
        Try now
      </button>
    </div>
  );
}
