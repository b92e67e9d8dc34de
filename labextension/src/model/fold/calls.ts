/** Tool calls: asked for, decided, asked the user about, carried out, handed to a worker. */
import type { CallView, Spent, Stored } from '../../api/types.gen';

const NOTHING_SPENT: Spent = { rounds: 0, tokens: 0, cost: null, changed_lines: 0 };

export function newCall(event: Extract<Stored, { type: 'tool_call.requested' }>): CallView {
  return {
    type: 'call',
    call_id: event.call_id,
    step_id: event.step_id,
    tool: event.tool,
    kind: event.kind,
    title: event.title,
    arguments: event.arguments,
    status: 'pending',
    requested_at: event.recorded_at,
    started_at: null,
    verdict: null,
    rule: '',
    ruling: null,
    why: '',
    effects: [],
    approval: null,
    hooks: [],
    execution: null,
    earlier: [],
    files: [],
    restored: [],
    result: '',
    side_file: '',
    duration: null,
    worker: null,
    cells: [],
    pictures: []
  };
}

export type CallEvent = Extract<
  Stored,
  {
    type:
      | 'tool_call.started'
      | 'tool_call.finished'
      | 'policy.decided'
      | 'file.changed'
      | 'hook.ended'
      | 'approval.requested'
      | 'approval.resolved'
      | 'worker.spawned'
      | 'worker.reported';
  }
>;

export function applyCall(call: CallView, event: CallEvent): CallView {
  switch (event.type) {
    case 'tool_call.started':
      return { ...call, status: 'in_progress', started_at: event.recorded_at };
    case 'tool_call.finished':
      return {
        ...call,
        status: event.status,
        result: event.result,
        duration: event.duration,
        side_file: event.side_file,
        pictures: event.pictures
      };
    case 'policy.decided':
      return {
        ...call,
        verdict: event.verdict,
        rule: event.rule,
        ruling: event.ruling,
        why: event.why,
        effects: event.effects
      };
    case 'file.changed':
      return { ...call, files: [...call.files, event.change] };
    case 'approval.requested':
      return {
        ...call,
        approval: {
          approval_id: event.approval_id,
          session_id: event.session_id,
          turn_id: event.turn_id,
          call_id: event.call_id,
          question: event.question,
          detail: event.detail,
          choices: event.choices,
          requested_at: event.recorded_at,
          why: event.why,
          rules: event.rules,
          effects: event.effects,
          expires_at: event.expires_at,
          resolved_at: null,
          choice: null,
          text: '',
          by: '',
          granted: []
        }
      };
    case 'approval.resolved':
      return call.approval?.approval_id === event.approval_id
        ? {
            ...call,
            approval: {
              ...call.approval,
              choice: event.choice,
              text: event.text,
              by: event.by,
              granted: event.rules,
              resolved_at: event.recorded_at
            }
          }
        : call;
    case 'hook.ended':
      return {
        ...call,
        hooks: [
          ...call.hooks,
          {
            phase: event.phase,
            command: event.command,
            decision: event.decision,
            reason: event.reason,
            duration: event.duration
          }
        ]
      };
    case 'worker.spawned':
      return {
        ...call,
        worker: {
          worker_id: event.worker_id,
          title: event.title,
          code: null,
          answer: '',
          spent: NOTHING_SPENT
        }
      };
    case 'worker.reported':
      return call.worker?.worker_id === event.worker_id
        ? { ...call, worker: { ...call.worker, code: event.code, answer: event.answer, spent: event.spent } }
        : call;
  }
}
