/** Joins a widget's view to its anywidget model. React is preact here, see `../build.mjs`. */
import * as React from 'react';
import { createRoot } from 'react-dom/client';
import { WidgetView, type WidgetKind } from '../../src/components/WidgetView';

/** What anywidget gives of a model. */
export interface Model {
  get(name: string): unknown;
  send(content: unknown): void;
  on(event: string, callback: () => void): void;
  off(event: string, callback: () => void): void;
}

export interface RenderProps {
  model: Model;
  el: HTMLElement;
}

export interface WidgetModule {
  render: (props: RenderProps) => () => void;
}

/** Milliseconds after which a kernel that has not answered a new view is said to be busy, or gone. */
const PATIENCE = 5000;

/** Tells the kernel, if it is there. */
export function tell(model: Model, content: unknown): void {
  try {
    model.send(content);
  } catch {
    // A kernel that is gone needs to know nothing.
  }
}

function Live(props: { kind: WidgetKind; model: Model }): React.JSX.Element {
  const { kind, model } = props;
  const [, setCount] = React.useState(0);
  const [silent, setSilent] = React.useState(false);
  React.useEffect(() => {
    const timer = setTimeout(() => setSilent(true), PATIENCE);
    const heard = () => {
      clearTimeout(timer);
      setSilent(false);
      setCount(count => count + 1);
    };
    model.on('change', heard);
    model.on('msg:custom', heard);
    tell(model, { ask: 'live' });
    setCount(count => count + 1);
    return () => {
      clearTimeout(timer);
      model.off('change', heard);
      model.off('msg:custom', heard);
    };
  }, [model]);
  return <WidgetView kind={kind} get={name => model.get(name)} takenAt={null} silent={silent} />;
}

/** The module that anywidget loads. `started` is called for each view and may return its own clean-up. */
export function widget(
  kind: WidgetKind,
  started?: (props: RenderProps) => () => void
): { default: WidgetModule } {
  const render = (props: RenderProps) => {
    props.el.dataset.pernix = kind;
    const root = createRoot(props.el);
    root.render(<Live kind={kind} model={props.model} />);
    const stop = started?.(props);
    return () => {
      stop?.();
      root.unmount();
    };
  };
  return { default: { render } };
}
