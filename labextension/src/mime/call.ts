import type {
  CallView,
  CellChangeView,
  CellSnapshot,
  FileChange,
  TerminalCode,
  ToolKind,
  WorkerView
} from '../api/types.gen';
import { CODES as ENDINGS } from '../components/words';
import { list, number, object, oneOf, text, textOrNull } from './fields';

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

const CODES = Object.keys(ENDINGS) as TerminalCode[];
const CHANGES: readonly CellChangeView['status'][] = ['requested', 'made', 'refused', 'kept', 'undone'];
const OPS: readonly CellChangeView['change']['op'][] = ['insert', 'edit', 'delete', 'move'];
const TYPES: readonly CellSnapshot['cell_type'][] = ['code', 'markdown', 'raw'];

function fileChange(value: unknown): FileChange {
  const change = object(value);
  return {
    path: text(change.path),
    before: textOrNull(change.before),
    after: textOrNull(change.after),
    added_lines: number(change.added_lines),
    removed_lines: number(change.removed_lines),
    diff: text(change.diff)
  };
}

function snapshot(value: unknown): CellSnapshot | null {
  if (value === null || value === undefined) {
    return null;
  }
  const cell = object(value);
  return {
    cell_id: text(cell.cell_id),
    cell_type: oneOf(TYPES, cell.cell_type, 'code'),
    source: text(cell.source)
  };
}

/** Nothing is kept or undone from a record, so what was made there has no buttons. */
function cellChange(value: unknown): CellChangeView {
  const view = object(value);
  const change = object(view.change);
  return {
    change: {
      change_id: text(change.change_id),
      path: text(change.path),
      op: oneOf(OPS, change.op, 'edit'),
      cell_id: text(change.cell_id),
      before: snapshot(change.before),
      after: snapshot(change.after),
      behind: textOrNull(change.behind),
      was_behind: textOrNull(change.was_behind)
    },
    turn_id: text(view.turn_id),
    status: oneOf(CHANGES, view.status, 'made'),
    owner: null,
    detail: text(view.detail)
  };
}

function worker(value: unknown): WorkerView | null {
  const view = object(value);
  if (text(view.worker_id) === '') {
    return null;
  }
  return {
    worker_id: text(view.worker_id),
    title: text(view.title),
    code: CODES.find(code => code === view.code) ?? null,
    answer: text(view.answer),
    spent: { rounds: 0, tokens: 0, cost: null, changed_lines: 0 }
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
    kind: oneOf(KINDS, call.kind, 'other'),
    title: text(call.title),
    arguments: object(call.arguments),
    status: oneOf(STATUSES, call.status, 'completed'),
    requested_at: '',
    started_at: null,
    verdict: call.verdict === 'refuse' ? 'refuse' : null,
    rule: text(call.rule),
    ruling: null,
    why: text(call.why),
    effects: [],
    approval: null,
    hooks: [],
    execution: null,
    earlier: [],
    files: list(call.files).map(fileChange),
    restored: [],
    result: text(call.result),
    side_file: '',
    duration: typeof call.duration === 'number' ? call.duration : null,
    worker: worker(call.worker),
    cells: list(call.cells).map(cellChange),
    pictures: []
  };
}
