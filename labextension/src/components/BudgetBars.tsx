import * as React from 'react';
import type { Limit } from '../model/budget';
import { count, money } from './words';

/** What was used of one limit. `limit` `null`: there is none. `used` `null`: nobody can say. */
export interface Used {
  of: 'turn' | 'session';
  what: Limit;
  used: number | null;
  limit: number | null;
}

const NAMES: Record<Limit, string> = {
  rounds: 'Steps',
  tokens: 'Tokens',
  cost: 'Cost',
  changed_lines: 'Changed lines'
};
const OF: Record<Used['of'], string> = { session: 'Session', turn: 'Last turn' };

function amount(what: Limit, value: number): string {
  return what === 'cost' ? money(value) : what === 'tokens' ? count(value) : value.toLocaleString();
}

/** What a session and its last turn used, each limit with a bar. */
export function BudgetBars(props: { used: readonly Used[] }): React.JSX.Element {
  const groups = (['session', 'turn'] as const).map(of => ({
    of,
    entries: props.used.filter(entry => entry.of === of)
  }));
  return (
    <div className="jp-Pernix-budgetGroups">
      {groups.map(({ of, entries }) =>
        entries.length === 0 ? null : (
          <table key={of} className="jp-Pernix-budgetBars">
            <caption>{OF[of]}</caption>
            <tbody>
              {entries.map(entry => (
                <UsedRow key={entry.what} entry={entry} />
              ))}
            </tbody>
          </table>
        )
      )}
    </div>
  );
}

function UsedRow(props: { entry: Used }): React.JSX.Element {
  const { what, used, limit } = props.entry;
  const share = limit === null || limit <= 0 || used === null ? null : Math.min(1, used / limit);
  const words = used === null ? 'no price' : amount(what, used);
  return (
    <tr>
      <th scope="row">{NAMES[what]}</th>
      <td className="jp-Pernix-usedCell">
        {share !== null && (
          <span
            className={share > 0.85 ? 'jp-Pernix-usedBar jp-mod-full' : 'jp-Pernix-usedBar'}
            role="img"
            aria-label={`${Math.round(100 * share)}% used`}
          >
            <span style={{ width: `${100 * share}%` }} />
          </span>
        )}
      </td>
      <td>
        {words}
        {limit !== null && <span className="jp-Pernix-dim"> of {amount(what, limit)}</span>}
      </td>
    </tr>
  );
}
