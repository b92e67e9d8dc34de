import type { CallView, FileChange, JSONObject, ToolKind } from '../api/types.gen';

const KINDS: readonly ToolKind[] = [
  'read',
  'edit',
  'delete',
  'move',
  'search',
  'execute',
  'fetch',
  'think',
  'other'
];
const STATUSES: readonly CallView['status'][] = [
  'pending',
  'in_progress',
  'completed',
  'failed',
  'cancelled',
  'unknown'
];

function object(value: unknown): JSONObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JSONObject) : {};
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function number(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

function fileChange(value: unknown): FileChange {
  const change = object(value);
  return {
    path: text(change.path),
    before: typeof change.before === 'string' ? change.before : null,
    after: typeof change.after === 'string' ? change.after : null,
    added_lines: number(change.added_lines),
    removed_lines: number(change.removed_lines),
    diff: text(change.diff)
  };
}

/** A call as a run notebook keeps it. Anybody may have written the notebook, so every field is looked at. */
export function callFrom(data: unknown): CallView {
  const call = object(data);
  return {
    type: 'call',
    call_id: text(call.call_id),
    step_id: '',
    tool: text(call.tool) || 'tool',
    kind: KINDS.find(kind => kind === call.kind) ?? 'other',
    title: text(call.title),
    arguments: object(call.arguments),
    status: STATUSES.find(status => status === call.status) ?? 'completed',
    requested_at: '',
    started_at: null,
    verdict: call.verdict === 'refuse' ? 'refuse' : null,
    rule: text(call.rule),
    approval: null,
    execution: null,
    earlier: [],
    files: Array.isArray(call.files) ? call.files.map(fileChange) : [],
    result: text(call.result),
    side_file: '',
    duration: typeof call.duration === 'number' ? call.duration : null,
    worker: null,
    cells: [],
    pictures: []
  };
}
