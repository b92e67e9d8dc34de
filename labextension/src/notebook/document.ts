/** One open notebook, whatever shows it: read and changed by cell id, never by what is active. */
import type { ICellModel, ICodeCellModel } from '@jupyterlab/cells';
import { NotebookActions, type INotebookModel, type NotebookPanel } from '@jupyterlab/notebook';
import { ServerConnection, type Contents } from '@jupyterlab/services';
import { JSONExt, type ReadonlyJSONObject } from '@lumino/coreutils';
import type { CellChange, CellSnapshot, CellType, JSONObject } from '../api/types.gen';
import { Edits } from './edited';
import { isCode } from './failed';
import { replacement } from './source';

/** Nothing was changed; the message is a sentence. */
export class Refused extends Error {}

type Shared = INotebookModel['sharedModel'];
type SharedCell = Shared['cells'][number];

export class OpenDocument {
  constructor(
    /** One of its views. */
    public panel: NotebookPanel,
    private readonly _contents: Contents.IManager
  ) {}

  /** Relative to the server's root. */
  get path(): string {
    return this.panel.context.localPath;
  }

  get isDisposed(): boolean {
    return this.panel.isDisposed || this.panel.context.isDisposed;
  }

  /** The server's shared document writes by itself. */
  get collaborative(): boolean {
    return this._model.collaborative === true;
  }

  /** There is something to be saved, what the kernel says of itself aside. */
  get dirty(): boolean {
    return Edits.of(this._model).some;
  }

  get readOnly(): boolean {
    return this._model.readOnly || this.panel.context.contentsModel?.writable === false;
  }

  /**
   * Wait until it can be read. A notebook without edits that is older than its file is read again.
   *
   * Throws `Refused` if it was closed meanwhile.
   */
  async settle(): Promise<void> {
    const { context } = this.panel;
    await context.ready;
    if (!this.isDisposed && !this.dirty && !this.collaborative && (await this._isBehindFile())) {
      const active = this.panel.content.activeCell?.model.id;
      await context.revert();
      this._activate(active);
    }
    if (this.isDisposed) {
      throw new Refused('The notebook was closed.');
    }
  }

  cells(): CellSnapshot[] {
    return [...this._model.cells].map(snapshot);
  }

  /** The cell with this id, if there is exactly one. */
  cell(cellId: string): ICellModel | null {
    const found = [...this._model.cells].filter(cell => cell.id === cellId);
    return found.length === 1 ? (found[0] ?? null) : null;
  }

  codeCell(cellId: string): ICodeCellModel | null {
    const cell = this.cell(cellId);
    return cell !== null && isCode(cell) ? cell : null;
  }

  /**
   * Carry out a change, as a step of its own in the history of undo. Check and change happen at once: nothing comes in between.
   *
   * Returns what takes it back. Throws `Refused` if it does not fit.
   */
  change(change: CellChange): CellChange {
    if (this.readOnly) {
      throw new Refused('The notebook is open read-only.');
    }
    switch (change.op) {
      case 'insert':
        return this._insert(change);
      case 'delete':
        return this._delete(change);
      case 'move':
        return this._move(change);
      case 'edit':
        return this._edit(change);
    }
  }

  /** Do something that must not count as an edit of the user's: what the server holds anyway. */
  keepingClean<T>(action: () => T): T {
    return Edits.of(this._model).without(action);
  }

  /** Write the file. Throws `Refused` if that would overwrite what others wrote, or cannot be done. */
  async save(): Promise<void> {
    if (this.readOnly) {
      throw new Refused('The notebook is open read-only.');
    }
    if (await this._isGone()) {
      throw new Refused('The file is not there any more; who saves the notebook by hand makes it anew.');
    }
    if (await this._isBehindFile()) {
      throw new Refused(
        'The file was changed by something else since the page read it; the page asks at the next save.'
      );
    }
    await this.panel.context.save();
  }

  private get _model(): INotebookModel {
    const { model } = this.panel.context;
    if (this.isDisposed) {
      throw new Refused('The notebook was closed.');
    }
    return model;
  }

  private get _shared(): Shared {
    return this._model.sharedModel;
  }

  /** As JupyterLab looks before it saves. */
  private async _isBehindFile(): Promise<boolean> {
    const { context } = this.panel;
    const known = context.contentsModel;
    if (known === null || this.collaborative) {
      return false;
    }
    const file = await this._contents.get(context.path, { content: false, hash: true }).catch(() => null);
    if (file === null || context.isDisposed) {
      return false;
    }
    return known.hash && file.hash
      ? known.hash !== file.hash
      : Date.parse(file.last_modified) - Date.parse(known.last_modified) > context.lastModifiedCheckMargin;
  }

  private async _isGone(): Promise<boolean> {
    const { context } = this.panel;
    if (this.collaborative) {
      return false;
    }
    const asked = this._contents.get(context.path, { content: false });
    return asked.then(
      () => false,
      (error: unknown) => error instanceof ServerConnection.ResponseError && error.response.status === 404
    );
  }

  private _activate(cellId: string | undefined): void {
    const index = this.panel.content.widgets.findIndex(widget => widget.model.id === cellId);
    if (index >= 0) {
      this.panel.content.activeCellIndex = index;
    }
  }

  private _index(cellId: string): number {
    const places = this._shared.cells.flatMap((cell, index) => (cell.getId() === cellId ? [index] : []));
    if (places.length > 1) {
      throw new Refused(`Two cells of the notebook have the id ${cellId}.`);
    }
    return places[0] ?? -1;
  }

  /** Where a cell stands when it stands behind this one. */
  private _placeBehind(behind: string | null): number {
    if (behind === '') {
      return 0;
    }
    const index = behind === null ? -1 : this._index(behind);
    if (index < 0) {
      throw new Refused(
        `The cell ${behind ?? ''}, behind which it should stand, is not in the notebook any more.`
      );
    }
    return index + 1;
  }

  /** The place of the cell that `change` is about, if it still is as it was read. */
  private _unchanged(change: CellChange): number {
    const index = this._index(change.cell_id);
    const cell = this._shared.cells[index];
    if (cell === undefined) {
      throw new Refused(`The cell ${change.cell_id} is not in the notebook any more.`);
    }
    if (cell.cell_type !== change.before?.cell_type || cell.getSource() !== change.before.source) {
      throw new Refused(`The cell ${change.cell_id} was changed since it was read.`);
    }
    return index;
  }

  private _idAbove(index: number): string {
    return this._shared.cells[index - 1]?.getId() ?? '';
  }

  private _insert(change: CellChange): CellChange {
    const { after } = change;
    if (after === null) {
      throw new Refused('There is no cell to insert.');
    }
    const there = this._shared.cells[this._index(change.cell_id)];
    if (there !== undefined) {
      if (there.cell_type === after.cell_type && there.getSource() === after.source) {
        return { ...change, op: 'delete', before: after, after: null };
      }
      throw new Refused(`There is a cell ${change.cell_id} already.`);
    }
    const place = this._placeBehind(change.behind);
    this._asOneStep(this._shared, () => {
      this._shared.insertCell(place, cellJson(after));
    });
    this._reveal(place);
    return { ...change, op: 'delete', before: after, after: null, behind: null, was_behind: change.behind };
  }

  private _delete(change: CellChange): CellChange {
    const index = this._unchanged(change);
    const cell = this._shared.cells[index];
    if (cell?.getMetadata('deletable') === false) {
      throw new Refused('The cell is marked as one that must not be deleted.');
    }
    const above = this._idAbove(index);
    const before = cell === undefined ? change.before : fromJson(cell.toJSON());
    this._asOneStep(this._shared, () => this._shared.deleteCell(index));
    return { ...change, op: 'insert', before: null, after: before, behind: above, was_behind: null };
  }

  private _move(change: CellChange): CellChange {
    const from = this._unchanged(change);
    if (change.behind === change.cell_id) {
      throw new Refused('A cell cannot stand behind itself.');
    }
    const place = this._placeBehind(change.behind);
    const above = this._idAbove(from);
    const trusted = this.cell(change.cell_id)?.trusted === true;
    this._asOneStep(this._shared, () => this._shared.moveCell(from, place > from ? place - 1 : place));
    const moved = this.cell(change.cell_id);
    if (moved !== null && trusted) {
      moved.trusted = true;
    }
    return {
      ...change,
      before: change.after,
      after: change.before,
      behind: above,
      was_behind: change.behind
    };
  }

  private _edit(change: CellChange): CellChange {
    const { before, after } = change;
    const index = this._unchanged(change);
    const cell = this._shared.cells[index];
    if (after === null || before === null || cell === undefined) {
      throw new Refused('There is nothing to put into the cell.');
    }
    if (cell.getMetadata('editable') === false) {
      throw new Refused('The cell is marked as one that must not be edited.');
    }
    if (after.cell_type !== before.cell_type) {
      this._asOneStep(this._shared, () => {
        this._shared.deleteCell(index);
        this._shared.insertCell(index, cellJson(after));
      });
    } else {
      this._asOneStep(cell, () => {
        const piece = replacement(before.source, after.source);
        if (piece !== null) {
          cell.updateSource(piece.start, piece.end, piece.text);
        }
        setMetadata(cell, before, after);
        setOutputs(cell, before, after);
        setAttachments(cell, before, after);
      });
    }
    return { ...change, before: after, after: before };
  }

  /** The history neither joins it with what was typed before nor what is typed next with it. */
  private _asOneStep(on: Shared | SharedCell, action: () => void): void {
    endStep(on);
    endStep(this._shared);
    on.transact(action);
    endStep(on);
    endStep(this._shared);
  }

  /** A cell that comes to stand below a folded heading unfolds it, or nobody would see it. */
  private _reveal(index: number): void {
    const { content } = this.panel;
    const above = content.widgets[index - 1];
    const cell = content.widgets[index];
    if (cell !== undefined && above !== undefined && (above.isHidden || isFolded(above))) {
      NotebookActions.expandParent(cell, content);
    }
  }
}

type NewCell = Parameters<Shared['insertCell']>[1];

function cellJson(cell: CellSnapshot): NewCell {
  const { attachments = {} } = cell;
  const code = cell.cell_type === 'code';
  return {
    id: cell.cell_id,
    cell_type: cell.cell_type,
    source: cell.source,
    metadata: { ...cell.metadata },
    ...(code ? { outputs: cell.outputs ?? [], execution_count: cell.execution_count ?? null } : {}),
    ...(!code && Object.keys(attachments).length > 0 ? { attachments } : {})
  } as NewCell;
}

function isFolded(cell: object): boolean {
  return 'headingCollapsed' in cell && cell.headingCollapsed === true;
}

function endStep(shared: object): void {
  const manager: unknown = 'undoManager' in shared ? shared.undoManager : null;
  if (
    typeof manager === 'object' &&
    manager !== null &&
    'stopCapturing' in manager &&
    typeof manager.stopCapturing === 'function'
  ) {
    manager.stopCapturing();
  }
}

function setMetadata(cell: SharedCell, before: CellSnapshot, after: CellSnapshot): void {
  const [olds, news] = [before.metadata ?? {}, after.metadata ?? {}];
  for (const key of Object.keys(olds).filter(name => !(name in news))) {
    cell.deleteMetadata(key);
  }
  for (const [key, value] of Object.entries(news)) {
    if (!same(olds[key], value)) {
      cell.setMetadata(key, value as Parameters<SharedCell['setMetadata']>[1] & string);
    }
  }
}

function setOutputs(cell: SharedCell, before: CellSnapshot, after: CellSnapshot): void {
  if (!('setOutputs' in cell)) {
    return;
  }
  if (!same(before.outputs ?? [], after.outputs ?? [])) {
    cell.setOutputs((after.outputs ?? []) as Parameters<typeof cell.setOutputs>[0]);
  }
  if ((before.execution_count ?? null) !== (after.execution_count ?? null)) {
    cell.execution_count = after.execution_count ?? null;
  }
}

function setAttachments(cell: SharedCell, before: CellSnapshot, after: CellSnapshot): void {
  if ('setAttachments' in cell && !same(before.attachments ?? {}, after.attachments ?? {})) {
    cell.setAttachments(after.attachments as Parameters<typeof cell.setAttachments>[0]);
  }
}

export function same(one: unknown, other: unknown): boolean {
  return JSONExt.deepEqual(
    (one ?? null) as ReadonlyJSONObject | null,
    (other ?? null) as ReadonlyJSONObject | null
  );
}

function snapshot(cell: ICellModel): CellSnapshot {
  return fromJson(cell.sharedModel.toJSON());
}

function fromJson(json: ReturnType<SharedCell['toJSON']>): CellSnapshot {
  const { source } = json;
  const outputs = 'outputs' in json && Array.isArray(json.outputs) ? (json.outputs as JSONObject[]) : [];
  const count =
    'execution_count' in json && typeof json.execution_count === 'number' ? json.execution_count : null;
  return {
    cell_id: String(json.id),
    cell_type: json.cell_type as CellType,
    source: Array.isArray(source) ? source.join('') : source,
    outputs,
    execution_count: count,
    metadata: json.metadata as JSONObject,
    attachments: 'attachments' in json && json.attachments ? (json.attachments as JSONObject) : {}
  };
}
