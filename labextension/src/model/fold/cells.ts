/** Changes of notebook cells: about to be made, made or refused, kept or undone. */
import type { CellChangeView, SessionView, Stored } from '../../api/types.gen';
import { inCall, inCallWhere } from './places';

type Requested = Extract<Stored, { type: 'cell.change_requested' }>;
type Later = Extract<Stored, { type: 'cell.changed' | 'cell.change_refused' | 'cell.change_resolved' }>;
export type CellEvent = Requested | Later;

export function applyCell(view: SessionView, event: CellEvent): SessionView {
  if (event.type === 'cell.change_requested') {
    return inCall(view, event.call_id, call => ({ ...call, cells: [...call.cells, newChange(event)] }));
  }
  const isMeant = (cell: CellChangeView) => cell.change.change_id === event.change_id;
  return inCallWhere(
    view,
    call => call.cells.some(isMeant),
    call => ({ ...call, cells: call.cells.map(cell => (isMeant(cell) ? changed(cell, event) : cell)) })
  );
}

function newChange(event: Requested): CellChangeView {
  return { change: event.change, turn_id: event.turn_id, status: 'requested', owner: null, detail: '' };
}

function changed(cell: CellChangeView, event: Later): CellChangeView {
  switch (event.type) {
    case 'cell.changed':
      return { ...cell, status: 'made', owner: event.owner };
    case 'cell.change_refused':
      return { ...cell, status: 'refused', detail: event.reason };
    case 'cell.change_resolved':
      return { ...cell, status: event.decision === 'keep' ? 'kept' : 'undone', detail: event.detail };
  }
}
