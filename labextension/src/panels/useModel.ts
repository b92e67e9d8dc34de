import * as React from 'react';
import type { Observable } from '../model/observable';

/** Draw again when a model changed; changes that come close together are drawn once. */
export function useModel(model: Observable | null): void {
  const [, tick] = React.useReducer((count: number) => count + 1, 0);
  React.useEffect(() => {
    if (model === null) {
      return;
    }
    let timer: ReturnType<typeof setTimeout> | undefined;
    const onChange = () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        tick();
      }, 30);
    };
    model.changed.connect(onChange);
    tick();
    return () => {
      clearTimeout(timer);
      model.changed.disconnect(onChange);
    };
  }, [model]);
}
