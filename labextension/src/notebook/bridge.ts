/**
 * Carries out what the server asks of this page. Knows no JupyterLab.
 *
 * Each request is carried out at most once, those of one notebook one after the other, and none after its time. When the server has not
 * counted on an answer, what was done is taken back.
 */
import { RequestFailed } from '../api/transport';
import type { CellChange, CellSnapshot, PageAnswer, PageRequest } from '../api/types.gen';

/** A notebook of this page. What throws has changed nothing; the message is a sentence. */
export interface BridgeNotebook {
  readonly dirty: boolean;
  settle(): Promise<void>;
  cells(): CellSnapshot[];
  /** Returns what takes it back. */
  change(change: CellChange): CellChange;
  save(): Promise<void>;
}

/** What runs in cells of this page. Both throw when the cell does not fit, and return what takes it back. */
export interface BridgeRuns<N> {
  begin(notebook: N, request: PageRequest): () => void;
  put(notebook: N, request: PageRequest): void;
}

export interface BridgeOptions<N> {
  pageId: string;
  find(path: string): N | null;
  runs: BridgeRuns<N>;
  answer(answer: PageAnswer): Promise<void>;
  now?: () => number;
  /** Between two tries to deliver an answer. */
  pause?: (milliseconds: number) => Promise<void>;
}

/** So many ids are remembered. */
const MEMORY = 2000;
const BETWEEN_TRIES = 500;

const sleep = (milliseconds: number) => new Promise<void>(resolve => setTimeout(resolve, milliseconds));

class TooLate extends Error {
  constructor() {
    super('The page could not do it in time.');
  }
}

export class Bridge<N extends BridgeNotebook> {
  constructor(private readonly _options: BridgeOptions<N>) {
    this._now = _options.now ?? (() => Date.now());
    this._pause = _options.pause ?? sleep;
  }

  /** Resolves when the request is done with; requests to other pages and repeated ones are nothing to do. */
  take(request: PageRequest): Promise<void> {
    const { page_id: pageId, request_id: id, path } = request;
    const key = `${request.op} ${id}`;
    if (pageId !== this._options.pageId || this._seen.has(key)) {
      return Promise.resolve();
    }
    this._remember(key);
    const deadline = this._now() + 1000 * request.seconds;
    const before = this._queues.get(path) ?? Promise.resolve();
    const done = before.then(() => this._carryOut(request, deadline));
    this._queues.set(path, done);
    return done.finally(() => {
      if (this._queues.get(path) === done) {
        this._queues.delete(path);
      }
    });
  }

  private async _carryOut(request: PageRequest, deadline: number): Promise<void> {
    let takeBack: (() => void) | null = null;
    let notebook: N | null = null;
    let clean = false;
    const answer: PageAnswer = { request_id: request.request_id };
    try {
      notebook = this._options.find(request.path);
      if (notebook === null) {
        throw new Error(`The page has not opened ${request.path}.`);
      }
      await this._inTime(notebook.settle(), deadline);
      clean = !notebook.dirty;
      takeBack = this._do(notebook, request, answer);
      // Outputs that the page shows already are not in the file yet.
      if (request.op === 'save' || (clean && (notebook.dirty || request.op === 'outputs'))) {
        await this._save(notebook, request, deadline);
      }
      answer.dirty = notebook.dirty;
    } catch (error) {
      answer.refused = error instanceof Error ? error.message : String(error);
    }
    if (!(await this._deliver(answer, deadline)) && takeBack !== null && notebook !== null) {
      this._takeBack(notebook, takeBack, clean);
    }
  }

  /** No `await` in here: nobody can come between the check and the change. */
  private _do(notebook: N, request: PageRequest, answer: PageAnswer): (() => void) | null {
    switch (request.op) {
      case 'read':
        answer.cells = notebook.cells();
        return null;
      case 'change': {
        if (request.change === null) {
          throw new Error('The request names no change.');
        }
        const back = notebook.change(request.change);
        return () => void notebook.change(back);
      }
      case 'run':
        return this._options.runs.begin(notebook, request);
      case 'outputs':
        this._options.runs.put(notebook, request);
        return null;
      case 'save':
        return null;
    }
  }

  /** What was done stands even if the file could not be written; the answer says that the notebook is not saved. */
  private async _save(notebook: N, request: PageRequest, deadline: number): Promise<void> {
    try {
      await this._inTime(notebook.save(), deadline);
    } catch (error) {
      if (request.op === 'save') {
        throw error;
      }
      console.warn('jupyter_pernix: the notebook could not be saved', error);
    }
  }

  private _takeBack(notebook: N, takeBack: () => void, clean: boolean): void {
    try {
      takeBack();
      if (clean && notebook.dirty) {
        notebook
          .save()
          .catch(error => console.warn('jupyter_pernix: the notebook could not be saved', error));
      }
    } catch (error) {
      console.warn('jupyter_pernix: a change that came too late could not be taken back', error);
    }
  }

  /** Whether the server has counted on the answer. */
  private async _deliver(answer: PageAnswer, deadline: number): Promise<boolean> {
    for (;;) {
      try {
        await this._options.answer(answer);
        return true;
      } catch (error) {
        const refused = error instanceof RequestFailed && error.status >= 400 && error.status < 500;
        if (refused || this._now() >= deadline) {
          return false;
        }
        await this._pause(BETWEEN_TRIES);
      }
    }
  }

  private async _inTime<T>(promise: Promise<T>, deadline: number): Promise<T> {
    const left = deadline - this._now();
    if (left <= 0) {
      throw new TooLate();
    }
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new TooLate()), left);
    });
    try {
      const value = await Promise.race([promise, late]);
      if (this._now() >= deadline) {
        throw new TooLate();
      }
      return value;
    } finally {
      clearTimeout(timer);
    }
  }

  private _remember(key: string): void {
    this._seen.add(key);
    if (this._seen.size > MEMORY) {
      const [oldest] = this._seen;
      this._seen.delete(oldest ?? '');
    }
  }

  private readonly _now: () => number;
  private readonly _pause: (milliseconds: number) => Promise<void>;
  private readonly _seen = new Set<string>();
  private readonly _queues = new Map<string, Promise<void>>();
}
