import * as React from 'react';

const PATHS = {
  add: 'M8 3v10M3 8h10',
  archive: 'M2.5 4h11v2.5h-11zM3.5 6.5v6.5h9V6.5M6.5 9h3',
  attach:
    'M11.5 5.5 6.8 10.2a1.4 1.4 0 0 1-2-2l5-5a2.6 2.6 0 0 1 3.7 3.7l-5.2 5.2a3.9 3.9 0 0 1-5.5-5.5l4.4-4.4',
  back: 'M10 3 5 8l5 5',
  check: 'm3 8.5 3.5 3.5L13 4.5',
  chevron: 'm6 3 5 5-5 5',
  clock: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM8 5v3.2l2.2 1.3',
  close: 'm4 4 8 8M12 4l-8 8',
  code: 'm5.5 4.5-4 3.5 4 3.5m5-7 4 3.5-4 3.5',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  down: 'M8 2.5v10M3.5 8.5 8 13l4.5-4.5',
  edit: 'm3 13 .7-3L11 2.7 13.3 5 6 12.3z',
  eye: 'M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8zM8 6a2 2 0 1 0 0 4 2 2 0 0 0 0-4z',
  insert: 'M2.5 3h11M2.5 13h11M8 5.5v5M5.5 8h5',
  models: 'M4.5 4.5h7v7h-7zM6.5 2v2.5m3-2.5v2.5m-3 7V14m3-2.5V14M2 6.5h2.5M2 9.5h2.5m7-3H14m-2.5 3H14',
  notebook: 'M4 2.5h8.5v11H4zM2.5 5H5M2.5 8H5M2.5 11H5M7.5 5.5h3',
  other: 'M8 2.5 13.5 8 8 13.5 2.5 8z',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  plan: 'M6.5 4h7M6.5 8h7M6.5 12h7M2.5 4l.8.8L4.8 3M2.5 8l.8.8L4.8 7M2.5 12l.8.8 1.5-1.8',
  play: 'M5 3.2 12.5 8 5 12.8z',
  question: 'M5.5 6a2.5 2.5 0 1 1 3.6 2.2C8.3 8.7 8 9.1 8 10m0 2.6v.1',
  restore: 'M3 8a5 5 0 1 0 1.6-3.7M3 2.5V5h2.5',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.5 10.5l3 3',
  send: 'M8 13V3.5M3.5 8 8 3.5 12.5 8',
  shield: 'M8 2 13 3.8v3.9c0 3-2 5.2-5 6.3-3-1.1-5-3.3-5-6.3V3.8z',
  stop: 'M4 4h8v8H4z',
  team: 'M5.5 7.5a2.2 2.2 0 1 0 0-4.4 2.2 2.2 0 0 0 0 4.4zM1.8 13c.3-2.3 1.7-3.6 3.7-3.6S8.9 10.7 9.2 13M10.5 7.5a1.8 1.8 0 1 0 0-3.6M11 9.5c1.8.1 2.9 1.3 3.2 3.3',
  think: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM8 5v3.5l2 1.5'
} as const;

export type IconName = keyof typeof PATHS;

export function Icon(props: { name: IconName }): React.JSX.Element {
  return (
    <svg
      className="jp-Pernix-icon"
      viewBox="0 0 16 16"
      width="14"
      height="14"
      aria-hidden="true"
      focusable="false"
    >
      <path d={PATHS[props.name]} />
    </svg>
  );
}

export interface IconButtonProps {
  icon: IconName;
  label: string;
  onClick: () => void;
  pressed?: boolean;
  disabled?: boolean;
  /** Takes the focus when it appears. */
  focused?: boolean;
}

/** A button that shows a sign and says its label to those who cannot see it. */
export function IconButton(props: IconButtonProps): React.JSX.Element {
  return (
    <button
      type="button"
      className="jp-Pernix-iconButton"
      aria-label={props.label}
      title={props.label}
      aria-pressed={props.pressed}
      disabled={props.disabled}
      autoFocus={props.focused}
      onClick={props.onClick}
    >
      <Icon name={props.icon} />
    </button>
  );
}
