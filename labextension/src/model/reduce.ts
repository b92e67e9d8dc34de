/**
 * What is: a session's log folded into a `SessionView`. Pure; the twin of `jupyter_pernix/fold.py`, tested on the same logs.
 *
 * Rule: an event whose `seq` is not above `last_seq` changes nothing, so a reader may reconnect with any `after`. What did not
 * change keeps its identity, so a screen redraws only what did.
 */
import {
  EVENT_TYPES,
  type CallView,
  type Event,
  type ExecutionOutput,
  type ExecutionView,
  type Item,
  type JSONObject,
  type NoticeView,
  type SessionView,
  type Spent,
  type StepFinished,
  type StepView,
  type Stored,
  type TurnView,
  type UnknownEvent,
  type Usage
} from '../api/types.gen';

export type AnyStored = Stored | UnknownEvent;

const KNOWN: ReadonlySet<string> = new Set(EVENT_TYPES);

export function isKnown(event: AnyStored): event is Stored {
  return KNOWN.has(event.type);
}

/** A session of which nothing is known yet. */
export function emptyView(sessionId: string): SessionView {
  return {
    session_id: sessionId,
    title: '',
    state: 'idle_ready',
    state_since: null,
    mode: 'edit',
    endpoint: null,
    kernel_name: '',
    place: 'own',
    space_root: '',
    record_path: '',
    archived: false,
    created_at: null,
    last_seq: 0,
    context_tokens: null,
    context_length: null,
    parent: null,
    budget: null,
    usage: { prompt_tokens: null, completion_tokens: null, cached_tokens: null },
    cost: null,
    waiting: null,
    turns: []
  };
}

/** The view after one more event. */
export function reduce(view: SessionView, stored: AnyStored): SessionView {
  if (stored.seq <= view.last_seq) {
    return view;
  }
  const next = { ...view, last_seq: stored.seq };
  return isKnown(stored) ? applyEvent(next, stored) : next;
}

/** Fold many events. */
export function reduceAll(view: SessionView, log: readonly AnyStored[]): SessionView {
  return log.reduce(reduce, view);
}

function applyEvent(view: SessionView, event: Stored): SessionView {
  switch (event.type) {
    case 'session.created':
      return {
        ...view,
        title: event.title,
        mode: event.mode,
        endpoint: event.endpoint,
        kernel_name: event.kernel_name,
        place: event.place,
        space_root: event.space_root,
        record_path: event.record_path,
        budget: event.budget,
        parent: event.parent,
        created_at: event.recorded_at,
        state_since: event.recorded_at,
        state: 'idle_ready'
      };
    case 'session.renamed':
      return { ...view, title: event.title, record_path: event.record_path || view.record_path };
    case 'session.configured':
      return {
        ...view,
        mode: event.mode ?? view.mode,
        endpoint: event.endpoint ?? view.endpoint,
        kernel_name: event.kernel_name ?? view.kernel_name,
        budget: event.budget ?? view.budget
      };
    case 'session.state_changed':
      return { ...view, state: event.after, state_since: event.recorded_at, waiting: null };
    case 'session.archived':
      return { ...view, archived: event.archived };
    case 'turn.submitted':
      return { ...view, turns: [...view.turns, newTurn(event)] };
    case 'turn.started':
      return {
        ...inTurn(view, event.turn_id, turn => ({
          ...turn,
          started_at: event.recorded_at,
          mode: event.mode,
          model: event.model,
          budget: event.budget,
          protocol: event.protocol
        })),
        ...(hasTurn(view, event.turn_id) ? { context_length: event.context_length } : {})
      };
    case 'step.started':
    case 'step.retry_scheduled':
    case 'step.fallback_taken':
    case 'step.finished':
      return event.turn_id === null || hasTurn(view, event.turn_id)
        ? applyStep(awaited(view, event.step_id), event)
        : view;
    case 'context.compacted':
      return compacted(view, event);
    case 'execution.started':
    case 'execution.output':
    case 'execution.finished':
      return applyExecution(view, event);
    case 'tool_call.started':
    case 'tool_call.finished':
    case 'policy.decided':
    case 'file.changed':
    case 'approval.requested':
    case 'approval.resolved':
    case 'worker.spawned':
    case 'worker.reported':
      return inCall(view, event.call_id, call => applyCall(call, event));
    case 'problem.noticed':
      return event.turn_id === null
        ? view
        : withItem(view, event.turn_id, { type: 'problem', text: event.text, hint: event.hint });
    default:
      return applyTurn(view, event);
  }
}

type TurnEvent = Extract<
  Stored,
  {
    type:
      | 'turn.edited'
      | 'turn.resumed'
      | 'turn.finished'
      | 'plan.updated'
      | 'instructions.read'
      | 'message.completed'
      | 'thought.completed'
      | 'tool_call.requested';
  }
>;

function applyTurn(view: SessionView, event: TurnEvent): SessionView {
  switch (event.type) {
    case 'turn.finished':
      return inTurn(view, event.turn_id, turn => ({
        ...turn,
        finished_at: event.recorded_at,
        code: event.code,
        detail: event.detail,
        usage: event.usage,
        cost: event.cost
      }));
    case 'turn.edited':
      return inTurn(view, event.turn_id, turn => ({ ...turn, text: event.text }));
    case 'turn.resumed':
      return withItem(view, event.turn_id, notice('resumed', event.text));
    case 'plan.updated':
      return inTurn(view, event.turn_id, turn => ({ ...turn, plan: event.plan }));
    case 'instructions.read':
      return event.text || !event.digest
        ? withItem(
            view,
            event.turn_id,
            notice('instructions', `${event.name} ${event.digest ? 'changed' : 'is gone'}.`)
          )
        : view;
    case 'message.completed':
      return withItem(view, event.turn_id, {
        type: 'message',
        step_id: event.step_id,
        text: event.text,
        corrections: event.corrections
      });
    case 'thought.completed':
      return withItem(view, event.turn_id, { type: 'thought', step_id: event.step_id, text: event.text });
    case 'tool_call.requested':
      return withItem(view, event.turn_id, newCall(event));
  }
}

const NOTHING_SPENT: Spent = { rounds: 0, tokens: 0, cost: null, changed_lines: 0 };

function newTurn(event: Extract<Stored, { type: 'turn.submitted' }>): TurnView {
  return {
    turn_id: event.turn_id,
    text: event.text,
    origin: event.origin,
    submitted_at: event.recorded_at,
    started_at: null,
    finished_at: null,
    mode: null,
    model: '',
    budget: null,
    protocol: null,
    code: null,
    detail: '',
    usage: null,
    cost: null,
    plan: null,
    items: [],
    steps: []
  };
}

function newCall(event: Extract<Stored, { type: 'tool_call.requested' }>): CallView {
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
    verdict: null,
    rule: '',
    approval: null,
    execution: null,
    files: [],
    result: '',
    side_file: '',
    duration: null,
    worker: null
  };
}

function notice(kind: NoticeView['kind'], text: string, hint = ''): NoticeView {
  return { type: 'notice', kind, text, hint };
}

/** Whatever a step says next, its wait is over. */
function awaited(view: SessionView, stepId: string): SessionView {
  return view.waiting?.step_id === stepId ? { ...view, waiting: null } : view;
}

type StepEvent = Extract<
  Stored,
  { type: 'step.started' | 'step.retry_scheduled' | 'step.fallback_taken' | 'step.finished' }
>;

/** Steps between turns (`turn_id` null) are shown nowhere; what they wait for and what they used is. */
function applyStep(view: SessionView, event: StepEvent): SessionView {
  const { turn_id: turnId } = event;
  switch (event.type) {
    case 'step.started':
      return turnId === null
        ? view
        : inTurn(view, turnId, turn => ({ ...turn, steps: [...turn.steps, newStep(event)] }));
    case 'step.retry_scheduled': {
      const { step_id, text, seconds } = event;
      const next = { ...view, waiting: { step_id, text, since: event.recorded_at, seconds } };
      return turnId === null ? next : withItem(next, turnId, notice('retry', text, event.hint));
    }
    case 'step.fallback_taken': {
      const { endpoint, model } = event;
      return turnId === null
        ? view
        : withItem(
            inStep(view, turnId, event.step_id, step => ({ ...step, endpoint, model, role: 'backup' })),
            turnId,
            notice('fallback', event.text)
          );
    }
    case 'step.finished':
      return stepFinished(view, event);
  }
}

function newStep(event: Extract<Stored, { type: 'step.started' }>): StepView {
  return {
    step_id: event.step_id,
    index: event.index,
    endpoint: event.endpoint,
    model: event.model,
    role: event.role,
    purpose: event.purpose,
    usage: null,
    timings: null,
    prefix_share: null,
    cost: null,
    finish_reason: ''
  };
}

function stepFinished(view: SessionView, event: Stored<StepFinished>): SessionView {
  const { usage, turn_id: turnId } = event;
  const step = turnId === null ? undefined : stepOf(view, turnId, event.step_id);
  if (turnId !== null && step === undefined) {
    return view;
  }
  const counted = {
    ...view,
    usage: total(view.usage, usage),
    cost: event.cost === null ? view.cost : (view.cost ?? 0) + event.cost
  };
  if (turnId === null) {
    return counted;
  }
  const next = inStep(counted, turnId, event.step_id, old => ({
    ...old,
    usage,
    timings: event.timings,
    prefix_share: event.prefix_share,
    cost: event.cost,
    finish_reason: event.finish_reason
  }));
  return step?.purpose === 'act' && usage.prompt_tokens !== null
    ? { ...next, context_tokens: usage.prompt_tokens + (usage.completion_tokens ?? 0) }
    : next;
}

function plus(one: number | null, two: number | null): number | null {
  return one === null ? two : two === null ? one : one + two;
}

/** The sum; a number that neither side knows stays unknown. */
function total(one: Usage, two: Usage): Usage {
  return {
    prompt_tokens: plus(one.prompt_tokens, two.prompt_tokens),
    completion_tokens: plus(one.completion_tokens, two.completion_tokens),
    cached_tokens: plus(one.cached_tokens, two.cached_tokens)
  };
}

const grouped = (tokens: number) => tokens.toLocaleString('en-US');

/** Between turns it is told at the end of the last one that began. */
function compacted(view: SessionView, event: Extract<Stored, { type: 'context.compacted' }>): SessionView {
  const turnId = event.turn_id ?? view.turns.findLast(turn => turn.started_at !== null)?.turn_id ?? null;
  if (event.turn_id !== null && !hasTurn(view, event.turn_id)) {
    return view;
  }
  const next = { ...view, context_tokens: event.tokens_after };
  const text = `The conversation was made shorter: ${grouped(event.tokens_before)} → ${grouped(event.tokens_after)} tokens.`;
  return turnId === null ? next : withItem(next, turnId, notice('compaction', text, event.dropped));
}

type CallEvent = Extract<
  Stored,
  {
    type:
      | 'tool_call.started'
      | 'tool_call.finished'
      | 'policy.decided'
      | 'file.changed'
      | 'approval.requested'
      | 'approval.resolved'
      | 'worker.spawned'
      | 'worker.reported';
  }
>;

function applyCall(call: CallView, event: CallEvent): CallView {
  switch (event.type) {
    case 'tool_call.started':
      return { ...call, status: 'in_progress' };
    case 'tool_call.finished':
      return {
        ...call,
        status: event.status,
        result: event.result,
        duration: event.duration,
        side_file: event.side_file
      };
    case 'policy.decided':
      return { ...call, verdict: event.verdict, rule: event.rule };
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
          choice: null,
          text: '',
          by: ''
        }
      };
    case 'approval.resolved':
      return call.approval?.approval_id === event.approval_id
        ? { ...call, approval: { ...call.approval, choice: event.choice, text: event.text, by: event.by } }
        : call;
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

type ExecutionEvent = Extract<
  Event,
  { type: 'execution.started' | 'execution.output' | 'execution.finished' }
>;

function applyExecution(view: SessionView, event: ExecutionEvent): SessionView {
  if (event.type === 'execution.started') {
    return inCall(view, event.call_id, call => ({ ...call, execution: newExecution(event) }));
  }
  return inCallWhere(
    view,
    call => call.execution?.execution_id === event.execution_id,
    call => (call.execution === null ? call : { ...call, execution: changedExecution(call.execution, event) })
  );
}

function newExecution(event: Extract<Event, { type: 'execution.started' }>): ExecutionView {
  return {
    execution_id: event.execution_id,
    place: event.place,
    kernel_name: event.kernel_name,
    code: event.code,
    outputs: [],
    status: null,
    execution_count: null,
    ename: '',
    evalue: '',
    detail: '',
    duration: null
  };
}

function changedExecution(
  execution: ExecutionView,
  event: Extract<Event, { type: 'execution.output' | 'execution.finished' }>
): ExecutionView {
  if (event.type === 'execution.output') {
    return { ...execution, outputs: applyOutput(execution.outputs, event) };
  }
  return {
    ...execution,
    status: event.status,
    execution_count: event.execution_count,
    ename: event.ename,
    evalue: event.evalue,
    detail: event.detail,
    duration: event.duration
  };
}

/** Carry out one step on a list of nbformat outputs; a step that does not fit the list changes nothing. */
export function applyOutput(
  outputs: JSONObject[],
  step: Pick<ExecutionOutput, 'op' | 'index' | 'output' | 'text'>
): JSONObject[] {
  if (step.op === 'clear') {
    return [];
  }
  if (step.op === 'append') {
    return step.output === null ? outputs : [...outputs, step.output];
  }
  const old = outputs[step.index];
  if (old === undefined) {
    return outputs;
  }
  if (step.op === 'replace') {
    return step.output === null ? outputs : outputs.with(step.index, step.output);
  }
  const text = typeof old.text === 'string' ? old.text : '';
  return outputs.with(step.index, { ...old, text: text + step.text });
}

function hasTurn(view: SessionView, turnId: string): boolean {
  return view.turns.some(turn => turn.turn_id === turnId);
}

function inTurn(view: SessionView, turnId: string, change: (turn: TurnView) => TurnView): SessionView {
  const at = view.turns.findLastIndex(turn => turn.turn_id === turnId);
  const turn = view.turns[at];
  return turn === undefined ? view : { ...view, turns: view.turns.with(at, change(turn)) };
}

function withItem(view: SessionView, turnId: string, item: Item): SessionView {
  return inTurn(view, turnId, turn => ({ ...turn, items: [...turn.items, item] }));
}

function stepOf(view: SessionView, turnId: string, stepId: string): StepView | undefined {
  const turn = view.turns.findLast(entry => entry.turn_id === turnId);
  return turn?.steps.findLast(step => step.step_id === stepId);
}

function inStep(
  view: SessionView,
  turnId: string,
  stepId: string,
  change: (step: StepView) => StepView
): SessionView {
  return inTurn(view, turnId, turn => ({
    ...turn,
    steps: turn.steps.map(step => (step.step_id === stepId ? change(step) : step))
  }));
}

function inCall(view: SessionView, callId: string, change: (call: CallView) => CallView): SessionView {
  return inCallWhere(view, call => call.call_id === callId, change);
}

/** Events follow their call closely, so the search begins at the end. */
function inCallWhere(
  view: SessionView,
  test: (call: CallView) => boolean,
  change: (call: CallView) => CallView
): SessionView {
  for (let t = view.turns.length - 1; t >= 0; t--) {
    const turn = view.turns[t];
    const at = turn?.items.findLastIndex(item => item.type === 'call' && test(item)) ?? -1;
    const call = turn?.items[at];
    if (turn !== undefined && call?.type === 'call') {
      return {
        ...view,
        turns: view.turns.with(t, { ...turn, items: turn.items.with(at, change(call)) })
      };
    }
  }
  return view;
}

/** The questions of a session that nobody has answered, oldest first. */
export function openApprovals(view: SessionView): CallView[] {
  const calls = view.turns.flatMap(turn => turn.items).filter(item => item.type === 'call');
  return calls.filter(call => call.approval !== null && call.approval.choice === null);
}
