import type { ApprovalChoice, ApprovalView, Plan, PlanStep } from '../api/types.gen';
import { list, object, oneOf, text } from './fields';

const CHOICES: readonly ApprovalChoice[] = [
  'allow_once',
  'allow_session',
  'allow_always',
  'reject_once',
  'reject_always'
];
const STEPS: readonly PlanStep['status'][] = ['pending', 'in_progress', 'completed'];

/** A question about a call as a run notebook keeps it; `choice` null: nobody answered. */
export function approvalFrom(data: unknown): ApprovalView {
  const approval = object(data);
  return {
    approval_id: text(approval.approval_id),
    session_id: '',
    turn_id: '',
    call_id: '',
    question: text(approval.question),
    detail: text(approval.detail),
    choices: [],
    requested_at: '',
    why: text(approval.why),
    rules: [],
    effects: [],
    expires_at: null,
    resolved_at: null,
    choice: CHOICES.find(choice => choice === approval.choice) ?? null,
    text: text(approval.text),
    by: text(approval.by),
    granted: []
  };
}

export function planFrom(data: unknown): Plan {
  const plan = object(data);
  return {
    approach: text(plan.approach),
    steps: list(plan.steps).map(value => {
      const step = object(value);
      return { text: text(step.text), status: oneOf(STEPS, step.status, 'pending') };
    }),
    tools: list(plan.tools).flatMap(tool => text(tool) || []),
    by: oneOf(['scout', 'agent'] as const, plan.by, 'agent')
  };
}
