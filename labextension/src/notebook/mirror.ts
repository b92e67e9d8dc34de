/**
 * What the server runs in cells of open notebooks, drawn where it belongs: the outputs of a cell are kept equal to the fold of its
 * execution's events, whatever the page itself receives from the kernel.
 */
import type { ICodeCellModel } from '@jupyterlab/cells';
import { NotebookActions, type INotebookModel } from '@jupyterlab/notebook';
import type { EventStream } from '../api/stream';
import type { ExecutionOutput, ExecutionView, JSONObject, PageRequest, Stored } from '../api/types.gen';
import { isKnown, type AnyStored } from '../model/reduce';
import type { NotebookClient } from './client';
import { Refused, same, type OpenDocument } from './document';
import type { Documents } from './documents';
import { carryOut, isHarmlessOnce } from './draw';
import { applyOutput, steps, type Step } from './fold';
import type { BridgeRuns } from './bridge';

interface Run {
  executionId: string;
  document: OpenDocument;
  cellId: string;
  /** Drawn as if the user had run it. */
  trusted: boolean;
  outputs: JSONObject[];
  /** What the cell shows now; null when that is not known. */
  shown: JSONObject[] | null;
  cell: ICodeCellModel | null;
  running: boolean;
  count: number | null;
  /** The last event that `outputs` contain. */
  seq: number;
  /** More came after its end: `outputs` are newer than what it ended with. */
  late: boolean;
  /** This page wrote its outputs to the notebook, and does so again when more come. */
  put: boolean;
}

/** Drawing takes at most this share of the page's time. */
const SHARE = 0.3;
/** In a hidden browser tab no frames come. */
const HIDDEN = 250;
const SAVE_LATE = 2000;

export class Mirror implements BridgeRuns<OpenDocument> {
  constructor(
    private readonly _documents: Documents,
    private readonly _client: NotebookClient,
    stream: EventStream
  ) {
    stream.stored.connect((_, event) => this._take(event));
    stream.reset.connect(() => _documents.documents.forEach(document => void this._read(document)));
    _documents.opened.connect((_, document) => void this._read(document));
    _documents.closed.connect((_, document) => this._forget(document));
    _documents.documents.forEach(document => void this._read(document));
    NotebookActions.executionScheduled.connect((_, { notebook, cell }) => {
      this._userRuns(notebook.model, cell.model.id);
    });
  }

  /** The cell begins to run: its outputs go. */
  begin(document: OpenDocument, request: PageRequest): () => void {
    const cell = document.codeCell(request.cell_id);
    if (cell === null) {
      throw new Refused(`There is no code cell ${request.cell_id} in the notebook.`);
    }
    if (cell.sharedModel.getSource() !== request.source) {
      throw new Refused(`The cell ${request.cell_id} was changed since it was read.`);
    }
    if (cell.executionState === 'running' && !this._runOf(document, request.cell_id)?.running) {
      throw new Refused('The cell is being run by the user.');
    }
    const { outputs, execution_count: count } = cell.sharedModel;
    this._begin(document, request.cell_id, request.execution_id ?? '', request.trusted);
    return () => {
      const run = this._runs.get(request.execution_id ?? '');
      if (run !== undefined) {
        this._end(run, outputs as JSONObject[], count);
        this._runs.delete(run.executionId);
      }
    };
  }

  /** These are its outputs, finally. A cell that the user has run meanwhile keeps those of that run. */
  put(document: OpenDocument, request: PageRequest): void {
    if (document.codeCell(request.cell_id) === null) {
      throw new Refused(`There is no code cell ${request.cell_id} in the notebook.`);
    }
    const id = request.execution_id ?? '';
    if (this._overtaken.has(id)) {
      return;
    }
    const run = this._runs.get(id) ?? this._newRun(document, request.cell_id, id, request.trusted);
    run.put = true;
    this._end(run, run.late ? run.outputs : request.outputs, request.execution_count, true);
  }

  private _begin(document: OpenDocument, cellId: string, executionId: string, trusted: boolean): void {
    if (this._runs.has(executionId)) {
      return;
    }
    const run = this._newRun(document, cellId, executionId, trusted);
    const cell = this._cellOf(run);
    if (cell !== null) {
      document.keepingClean(() => {
        cell.outputs.clear();
        cell.executionCount = null;
        cell.trusted = true;
        cell.executionState = 'running';
      });
      run.shown = [];
    }
  }

  private _newRun(document: OpenDocument, cellId: string, executionId: string, trusted: boolean): Run {
    const older = this._runOf(document, cellId);
    if (older !== undefined) {
      this._runs.delete(older.executionId);
    }
    const run: Run = {
      executionId,
      document,
      cellId,
      trusted,
      outputs: [],
      shown: null,
      cell: null,
      running: true,
      count: null,
      seq: 0,
      late: false,
      put: false
    };
    this._runs.set(executionId, run);
    return run;
  }

  private _runOf(document: OpenDocument, cellId: string): Run | undefined {
    return [...this._runs.values()].find(run => run.document === document && run.cellId === cellId);
  }

  /** `save`: whoever called saves, so the notebook may become dirty. */
  private _end(run: Run, outputs: JSONObject[], count: number | null, save = false): void {
    // What is shown already keeps its place in the page: a progress bar is not drawn anew.
    run.outputs = outputs.map((output, index) => {
      const old = run.outputs[index];
      return old !== undefined && same(old, output) ? old : output;
    });
    run.running = false;
    run.count = count;
    this._draw(run, save);
  }

  private _take(event: AnyStored): void {
    if (!isKnown(event)) {
      return;
    }
    if (
      event.type === 'execution.started' ||
      event.type === 'execution.output' ||
      event.type === 'execution.finished'
    ) {
      this._held?.push(event);
      this._apply(event);
    } else if (event.type === 'execution.mirrored' && event.owner !== 'ydoc') {
      this._settled(event.execution_id);
    }
  }

  private _apply(event: Stored): void {
    if (event.type === 'execution.started') {
      const document = event.notebook === '' ? null : this._documents.find(event.notebook);
      const cell = document?.codeCell(event.cell_id);
      if (document && !document.collaborative && cell && cell.sharedModel.getSource() === event.code) {
        this._begin(document, event.cell_id, event.execution_id, event.trusted);
      }
    } else if (event.type === 'execution.output') {
      this._output(event);
    } else if (event.type === 'execution.finished') {
      const run = this._runs.get(event.execution_id);
      if (run?.running && event.seq > run.seq) {
        run.running = false;
        run.count = event.execution_count;
        this._draw(run);
      }
    }
  }

  private _output(event: Stored<ExecutionOutput>): void {
    const run = this._runs.get(event.execution_id);
    if (run === undefined || event.seq <= run.seq) {
      return;
    }
    run.seq = event.seq;
    applyOutput(run.outputs, event);
    run.late = !run.running;
    this._waiting.add(run);
    this._schedule();
    if (run.late && run.put) {
      this._saveLate(run);
    }
  }

  /** Another page, or the server, has written the file: a page without edits reads it, so that its next save is no surprise. */
  private _settled(executionId: string): void {
    const run = this._runs.get(executionId);
    if (run !== undefined && !run.put && !run.document.isDisposed) {
      run.document.settle().catch(() => undefined);
    }
  }

  private _schedule(): void {
    if (this._scheduled) {
      return;
    }
    this._scheduled = true;
    const wait = Math.max(0, this._notBefore - performance.now());
    if (document.visibilityState === 'hidden') {
      setTimeout(() => this._flush(), Math.max(wait, HIDDEN));
    } else {
      setTimeout(() => requestAnimationFrame(() => this._flush()), wait);
    }
  }

  private _flush(): void {
    this._scheduled = false;
    const began = performance.now();
    const runs = [...this._waiting];
    this._waiting.clear();
    runs.filter(run => this._runs.get(run.executionId) === run).forEach(run => this._draw(run));
    const took = performance.now() - began;
    this._notBefore = began + took / SHARE;
  }

  private _cellOf(run: Run): ICodeCellModel | null {
    const cell = run.document.isDisposed ? null : run.document.codeCell(run.cellId);
    if (cell !== run.cell) {
      run.cell = cell;
      run.shown = null;
    }
    return cell;
  }

  private _draw(run: Run, save = false): void {
    const cell = this._cellOf(run);
    if (cell === null) {
      return;
    }
    this._waiting.delete(run);
    const draw = () => {
      this._trust(run, cell);
      if (run.shown === null || run.shown.length !== cell.outputs.length) {
        run.shown = same(cell.outputs.toJSON(), run.outputs) ? [...run.outputs] : null;
      }
      const list: Step[] =
        run.shown === null ? [{ do: 'rebuild', outputs: run.outputs }] : steps(run.shown, run.outputs);
      list.forEach(step => carryOut(cell, step));
      run.shown = [...run.outputs];
      cell.executionState = run.running ? 'running' : 'idle';
      if (!run.running) {
        cell.executionCount = run.count;
      }
    };
    if (save) {
      draw();
    } else {
      run.document.keepingClean(draw);
    }
  }

  private _trust(run: Run, cell: ICodeCellModel): void {
    const trusted = run.trusted || run.outputs.every(output => isHarmlessOnce(output));
    if (cell.trusted !== trusted) {
      cell.trusted = trusted;
    }
    if (!trusted) {
      cell.sharedModel.deleteMetadata('trusted');
    }
  }

  /** The user runs the cell: its outputs are theirs from now on. */
  private _userRuns(model: INotebookModel | null, cellId: string): void {
    for (const run of this._runs.values()) {
      // a copy of a notebook has cells of the same ids
      if (run.cellId === cellId && !run.document.isDisposed && run.document.panel.context.model === model) {
        this._runs.delete(run.executionId);
        this._overtaken.add(run.executionId);
      }
    }
  }

  private _saveLate(run: Run): void {
    clearTimeout(this._saves.get(run.document));
    const { dirty } = run.document;
    const timer = setTimeout(() => {
      this._saves.delete(run.document);
      if (!run.document.isDisposed && !run.document.dirty) {
        run.document
          .save()
          .catch(error => console.warn('jupyter_pernix: late outputs could not be saved', error));
      }
    }, SAVE_LATE);
    if (!dirty) {
      this._saves.set(run.document, timer);
    } else {
      clearTimeout(timer);
    }
  }

  private _forget(document: OpenDocument): void {
    for (const run of this._runs.values()) {
      if (run.document === document) {
        this._runs.delete(run.executionId);
      }
    }
  }

  /** What runs in a notebook that was just opened, or whose outputs are still owed to it. */
  private async _read(document: OpenDocument): Promise<void> {
    this._held ??= [];
    this._reading++;
    try {
      await document.panel.context.ready;
      if (document.isDisposed || document.collaborative) {
        return;
      }
      const { seqs, views } = await this._client.executions(document.path);
      const held = this._held ?? [];
      if (!document.isDisposed) {
        const adopted = views.filter(view => this._adopt(document, view, seqs[view.execution_id] ?? 0));
        const ids = new Set(adopted.map(view => view.execution_id));
        held
          .filter(event => 'execution_id' in event && ids.has(event.execution_id ?? ''))
          .forEach(event => this._apply(event));
      }
    } catch (error) {
      console.warn('jupyter_pernix: what runs in the notebook could not be read', error);
    } finally {
      if (--this._reading === 0) {
        this._held = null;
      }
    }
  }

  /** Take up a run as the server tells it; one that is followed already goes on as it is. */
  private _adopt(document: OpenDocument, view: ExecutionView, seq: number): boolean {
    const cell = document.codeCell(view.cell_id);
    const known = this._runs.has(view.execution_id) || this._overtaken.has(view.execution_id);
    if (known || cell === null || cell.sharedModel.getSource() !== view.code) {
      return false;
    }
    const run = this._newRun(document, view.cell_id, view.execution_id, view.trusted);
    run.outputs = [...view.outputs];
    run.running = view.status === null;
    run.count = view.execution_count;
    run.seq = seq;
    this._draw(run);
    return true;
  }

  private readonly _runs = new Map<string, Run>();
  /** Executions of cells that the user has run since. */
  private readonly _overtaken = new Set<string>();
  private readonly _waiting = new Set<Run>();
  private readonly _saves = new Map<OpenDocument, ReturnType<typeof setTimeout>>();
  /** Events that came while notebooks are being read. */
  private _held: Stored[] | null = null;
  private _reading = 0;
  private _scheduled = false;
  private _notBefore = 0;
}
