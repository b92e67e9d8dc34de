import * as React from 'react';

/** Something that a reader has to ask for; it is drawn only then. */
export function Folded(props: { label: string; children: React.ReactNode }): React.JSX.Element {
  const [open, setOpen] = React.useState(false);
  return (
    <details className="jp-Pernix-folded" onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>{props.label}</summary>
      {open && props.children}
    </details>
  );
}
