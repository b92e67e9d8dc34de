import * as React from 'react';

/** Milliseconds in which a question that has just appeared, or has just moved, takes no answer: a click or a key then was meant for something else. */
export const QUIET = 400;

let until = 0;
const listeners = new Set<() => void>();

/** Something on the page that can be answered came or went, and what stands below it moved. */
function stir(): void {
  until = Date.now() + QUIET;
  listeners.forEach(listener => listener());
}

/** Whether nothing may be answered yet. Each question that uses this stirs when it comes and when it goes. */
export function useQuiet(): boolean {
  const [quiet, setQuiet] = React.useState(true);
  React.useLayoutEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = () => {
      clearTimeout(timer);
      const left = until - Date.now();
      setQuiet(left > 0);
      if (left > 0) {
        timer = setTimeout(look, left);
      }
    };
    listeners.add(look);
    stir();
    return () => {
      listeners.delete(look);
      clearTimeout(timer);
      stir();
    };
  }, []);
  return quiet;
}
