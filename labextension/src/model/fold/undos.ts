/** Files that the user had put back to what they were. */
import type { SessionView, Stored, UndoView } from '../../api/types.gen';
import { inCall } from './places';

export type UndoEvent = Extract<
  Stored,
  { type: 'files.undo_requested' | 'file.restored' | 'file.restore_refused' }
>;

export function applyUndo(view: SessionView, event: UndoEvent): SessionView {
  if (event.type === 'files.undo_requested') {
    const undo: UndoView = {
      undo_id: event.undo_id,
      turn_id: event.turn_id,
      by: event.by,
      requested_at: event.recorded_at,
      done: [],
      refused: {}
    };
    return { ...view, undos: [...view.undos, undo] };
  }
  if (!view.undos.some(undo => undo.undo_id === event.undo_id)) {
    return view;
  }
  const undos = view.undos.map(undo => (undo.undo_id === event.undo_id ? after(undo, event) : undo));
  if (event.type === 'file.restore_refused') {
    return { ...view, undos };
  }
  return event.call_ids.reduce(
    (so, callId) =>
      inCall(so, callId, call =>
        call.restored.includes(event.path) ? call : { ...call, restored: [...call.restored, event.path] }
      ),
    { ...view, undos }
  );
}

function after(undo: UndoView, event: Exclude<UndoEvent, { type: 'files.undo_requested' }>): UndoView {
  return event.type === 'file.restored'
    ? { ...undo, done: [...undo.done, event.path] }
    : { ...undo, refused: { ...undo.refused, [event.path]: event.reason } };
}
