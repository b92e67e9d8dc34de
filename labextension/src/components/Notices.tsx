import * as React from 'react';
import type { NoticeView } from '../api/types.gen';
import { Icon, type IconName } from './icons';
import { plain, sentence } from './words';

/** Something went wrong, and what to do about it. */
export function Notice(props: { text: string; hint: string }): React.JSX.Element {
  return (
    <div className="jp-Pernix-notice" role="note">
      <div>{sentence(props.text)}</div>
      {props.hint && <div className="jp-Pernix-hint">{sentence(props.hint)}</div>}
    </div>
  );
}

const KINDS: Record<NoticeView['kind'], { icon: IconName; label: string }> = {
  retry: { icon: 'restore', label: 'Asked again' },
  fallback: { icon: 'insert', label: 'Another model' },
  compaction: { icon: 'archive', label: 'Context made shorter' },
  instructions: { icon: 'notebook', label: 'Instructions' },
  resumed: { icon: 'play', label: 'Resumed' },
  kernel: { icon: 'restore', label: 'Kernel' },
  notebook: { icon: 'notebook', label: 'Notebook' }
};

/** Something that the host did and says aloud, in one line. */
export function HostNotice(props: { notice: NoticeView }): React.JSX.Element {
  const { kind, text, hint } = props.notice;
  const { icon, label } = KINDS[kind];
  return (
    <div className="jp-Pernix-hostNotice" role="note" aria-label={label} data-kind={kind}>
      <Icon name={icon} />
      <span>
        {sentence(plain(text))}
        {hint && <> {sentence(plain(hint))}</>}
      </span>
    </div>
  );
}

/** What the host's record says against the answer below it, or what the answer leaves out. */
export function Corrections(props: { corrections: readonly string[] }): React.JSX.Element | null {
  const { corrections } = props;
  if (corrections.length === 0) {
    return null;
  }
  return (
    <div className="jp-Pernix-corrections" role="note" aria-label="Correction">
      <strong>What really happened</strong>
      <ul>
        {corrections.map((text, index) => (
          <li key={index}>{sentence(plain(text))}</li>
        ))}
      </ul>
    </div>
  );
}
