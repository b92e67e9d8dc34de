/** Code that runs for a call: its outputs, the lines it asks the user for, and whether its cell shows what came out. */
import type {
  CallView,
  ExecutionOutput,
  ExecutionView,
  InputView,
  JSONObject,
  SessionView,
  Stored
} from '../../api/types.gen';
import { inCall, inCallWhere } from './places';

type Started = Extract<Stored, { type: 'execution.started' }>;
type Later = Extract<
  Stored,
  {
    type:
      'execution.output' | 'execution.finished' | 'execution.mirrored' | 'input.requested' | 'input.answered';
  }
>;
export type ExecutionEvent = Started | Later;

export function applyExecution(view: SessionView, event: ExecutionEvent): SessionView {
  if (event.type === 'execution.started') {
    return inCall(view, event.call_id, call => begun(call, newExecution(event)));
  }
  const isMeant = (execution: ExecutionView) => execution.execution_id === event.execution_id;
  const step = (execution: ExecutionView) => (isMeant(execution) ? changed(execution, event) : execution);
  return inCallWhere(
    view,
    call => executionsOf(call).some(isMeant),
    call => ({ ...call, execution: call.execution && step(call.execution), earlier: call.earlier.map(step) })
  );
}

/** What a call ran, oldest first. */
export function executionsOf(call: CallView): ExecutionView[] {
  return call.execution === null ? [] : [...call.earlier, call.execution];
}

function begun(call: CallView, execution: ExecutionView): CallView {
  return { ...call, execution, earlier: executionsOf(call) };
}

function newExecution(event: Started): ExecutionView {
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
    duration: null,
    notebook: event.notebook,
    cell_id: event.cell_id,
    mirrored: false,
    trusted: event.trusted,
    inputs: []
  };
}

function changed(execution: ExecutionView, event: Later): ExecutionView {
  switch (event.type) {
    case 'execution.output':
      return { ...execution, outputs: applyOutput(execution.outputs, event) };
    case 'execution.finished':
      return {
        ...execution,
        status: event.status,
        execution_count: event.execution_count,
        ename: event.ename,
        evalue: event.evalue,
        detail: event.detail,
        duration: event.duration
      };
    case 'execution.mirrored':
      return { ...execution, mirrored: true };
    case 'input.requested':
      return { ...execution, inputs: [...execution.inputs, newInput(event)] };
    case 'input.answered':
      return {
        ...execution,
        inputs: execution.inputs.map(input =>
          input.input_id === event.input_id
            ? { ...input, text: event.text, by: event.by, answered_at: event.recorded_at }
            : input
        )
      };
  }
}

function newInput(event: Extract<Stored, { type: 'input.requested' }>): InputView {
  return {
    input_id: event.input_id,
    prompt: event.prompt,
    password: event.password,
    requested_at: event.recorded_at,
    answered_at: null,
    text: null,
    by: ''
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
