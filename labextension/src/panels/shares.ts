/** Shares of a row of which the one at `index` is to have `share`; the largest other one gives or takes the difference. Pure. */
export function withShare(shares: readonly number[], index: number, share: number): number[] {
  const largest = shares.reduce(
    (best, value, at) => (at !== index && (best < 0 || value > (shares[best] ?? 0)) ? at : best),
    -1
  );
  const difference = share - (shares[index] ?? 0);
  return shares.map((value, at) =>
    at === index ? share : at === largest ? Math.max(0, value - difference) : value
  );
}
