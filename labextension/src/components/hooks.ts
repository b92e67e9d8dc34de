import * as React from 'react';

/** In a picture of an earlier moment: that moment in milliseconds. */
export const MomentContext = React.createContext<number | null>(null);

/** The time in milliseconds, every second while `active`. */
export function useNow(active: boolean): number {
  const moment = React.useContext(MomentContext);
  const [now, setNow] = React.useState(() => Date.now());
  React.useEffect(() => {
    if (!active || moment !== null) {
      return;
    }
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [active, moment]);
  return moment ?? now;
}
