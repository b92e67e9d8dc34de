/** The session list kept current by the same events that everything else is drawn from. Pure. */
import type { SessionSummary } from '../api/types.gen';
import { isKnown, type AnyStored } from './reduce';

function created(event: Extract<AnyStored, { type: 'session.created' }>): SessionSummary {
  return {
    session_id: event.session_id,
    title: event.title,
    state: 'idle_ready',
    mode: event.mode,
    endpoint: event.endpoint,
    kernel_name: event.kernel_name,
    space_root: event.space_root,
    record_path: event.record_path,
    archived: false,
    created_at: event.recorded_at,
    updated_at: event.recorded_at,
    last_seq: event.seq,
    open_approvals: 0,
    turns: 0,
    parent: event.parent,
    sandbox: event.sandbox,
    network: event.network,
    notebook: ''
  };
}

/** One line of the list after an event; an event that it already contains changes nothing. */
export function summarize(summary: SessionSummary, event: AnyStored): SessionSummary {
  if (event.seq <= summary.last_seq) {
    return summary;
  }
  const next = { ...summary, last_seq: event.seq, updated_at: event.recorded_at };
  if (!isKnown(event)) {
    return next;
  }
  switch (event.type) {
    case 'session.renamed':
      return { ...next, title: event.title, record_path: event.record_path || next.record_path };
    case 'session.configured':
      return {
        ...next,
        mode: event.mode ?? next.mode,
        endpoint: event.endpoint ?? next.endpoint,
        kernel_name: event.kernel_name ?? next.kernel_name,
        sandbox: event.sandbox ?? next.sandbox,
        network: event.network ?? next.network
      };
    case 'session.state_changed':
      return { ...next, state: event.after };
    case 'session.archived':
      return { ...next, archived: event.archived };
    case 'session.attached':
      return { ...next, notebook: event.path };
    case 'session.detached':
      return { ...next, notebook: '' };
    case 'turn.submitted':
      return { ...next, turns: next.turns + 1 };
    case 'approval.requested':
    case 'input.requested':
      return { ...next, open_approvals: next.open_approvals + 1 };
    case 'approval.resolved':
    case 'input.answered':
      return { ...next, open_approvals: Math.max(0, next.open_approvals - 1) };
    default:
      return next;
  }
}

/** The list after an event, newest activity first. Returns the very same list when nothing changed. */
export function summarizeAll(list: readonly SessionSummary[], event: AnyStored): readonly SessionSummary[] {
  const at = list.findIndex(entry => entry.session_id === event.session_id);
  const old = list[at];
  if (old === undefined) {
    return isKnown(event) && event.type === 'session.created' ? [created(event), ...list] : list;
  }
  const entry = summarize(old, event);
  if (entry === old) {
    return list;
  }
  return [entry, ...list.slice(0, at), ...list.slice(at + 1)];
}
