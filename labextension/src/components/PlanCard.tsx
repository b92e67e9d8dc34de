import * as React from 'react';
import type { Plan, PlanStep } from '../api/types.gen';
import { Icon } from './icons';
import { plain } from './words';

const STATUSES: Record<PlanStep['status'], string> = {
  pending: 'To do',
  in_progress: 'Doing',
  completed: 'Done'
};

/** How the turn is meant to go: in sight while it goes, folded afterwards. */
export function PlanCard(props: { plan: Plan; running: boolean }): React.JSX.Element {
  const { plan, running } = props;
  const [chosen, setChosen] = React.useState<boolean | null>(null);
  const bodyId = React.useId();
  const open = chosen ?? running;
  const done = plan.steps.filter(step => step.status === 'completed').length;
  return (
    <div className="jp-Pernix-plan" role="group" aria-label="Plan">
      <button
        type="button"
        className="jp-Pernix-callHead"
        aria-expanded={open}
        aria-controls={bodyId}
        title={plan.by === 'scout' ? 'Made before the work began' : 'Made by the agent as it works'}
        onClick={() => setChosen(!open)}
      >
        <Icon name="plan" />
        <span className="jp-Pernix-callTitle">Plan</span>
        {plan.steps.length > 0 && (
          <span className="jp-Pernix-dim">
            {done > 0 ? `${done} of ${plan.steps.length} done` : steps(plan)}
          </span>
        )}
        <span className={open ? 'jp-Pernix-fold jp-mod-open' : 'jp-Pernix-fold'}>
          <Icon name="chevron" />
        </span>
      </button>
      <div id={bodyId} className="jp-Pernix-callBody" hidden={!open}>
        {plan.approach && <div className="jp-Pernix-planText">{plain(plan.approach)}</div>}
        {plan.steps.length > 0 && (
          <ol className="jp-Pernix-planSteps">
            {plan.steps.map((step, index) => (
              <li key={index} className={`jp-mod-${step.status}`}>
                {step.status !== 'pending' && <span className="jp-Pernix-chip">{STATUSES[step.status]}</span>}{' '}
                {plain(step.text)}
              </li>
            ))}
          </ol>
        )}
        {plan.tools.length > 0 && (
          <div className="jp-Pernix-dim">Tools: {plan.tools.map(plain).join(', ')}</div>
        )}
      </div>
    </div>
  );
}

function steps(plan: Plan): string {
  return plan.steps.length === 1 ? '1 step' : `${plan.steps.length} steps`;
}
