import type { Client } from '../api/client';
import type { Connection, EventStream } from '../api/stream';
import { asTrouble, type Trouble } from '../api/transport';
import type { Delta, SessionCreate, SessionPatch, SessionSummary } from '../api/types.gen';
import { applyDelta, settle, type Drafts } from './drafts';
import { Observable } from './observable';
import type { AnyStored } from './reduce';
import { SessionModel } from './session';
import { summarizeAll } from './summary';

/** All sessions: the list, the open ones, and what is being written in any of them. */
export class SessionsModel extends Observable {
  constructor(
    readonly client: Client,
    private readonly _stream: EventStream
  ) {
    super();
    _stream.stored.connect((_, event) => this._take(event));
    _stream.delta.connect((_, delta) => this._takeDelta(delta));
    _stream.reset.connect(() => void this._startOver());
    _stream.connectionChanged.connect((_, connection) => {
      if (connection.status === 'open') {
        this._catchUp();
      }
      this.emitChanged();
    });
    void this._start();
  }

  get list(): readonly SessionSummary[] {
    return this._list;
  }

  /** False until the list was read for the first time. */
  get loaded(): boolean {
    return this._loaded;
  }

  get trouble(): Trouble | null {
    return this._trouble;
  }

  /** The one stream of this tab. */
  get stream(): EventStream {
    return this._stream;
  }

  get connection(): Connection {
    return this._stream.connection;
  }

  /** How many questions wait for an answer, in all sessions. */
  get questions(): number {
    return this._list.reduce((sum, entry) => sum + entry.open_approvals, 0);
  }

  /** The questions of a session and of those that work for it. */
  questionsIn(sessionId: string): number {
    return this._list.reduce(
      (sum, entry) =>
        entry.session_id === sessionId || entry.parent === sessionId ? sum + entry.open_approvals : sum,
      0
    );
  }

  /** Whether a session that works for this one waits for an answer. */
  workerAsks(sessionId: string): boolean {
    return this._list.some(entry => entry.parent === sessionId && entry.open_approvals > 0);
  }

  summary(sessionId: string): SessionSummary | undefined {
    return this._list.find(entry => entry.session_id === sessionId);
  }

  drafts(sessionId: string): Drafts {
    return this._drafts.get(sessionId) ?? null;
  }

  /** The model of a session, the same one each time. */
  session(sessionId: string): SessionModel {
    let model = this._sessions.get(sessionId);
    if (model === undefined) {
      model = new SessionModel(this.client, sessionId);
      this._sessions.set(sessionId, model);
    }
    return model;
  }

  /** The new session, or null when `trouble` says why there is none. */
  create(body: SessionCreate): Promise<SessionSummary | null> {
    return this._adopt(() => this.client.createSession({ ...body, origin: 'panel' }));
  }

  tour(): Promise<SessionSummary | null> {
    return this._adopt(() => this.client.tour());
  }

  patch(sessionId: string, body: SessionPatch): Promise<SessionSummary | null> {
    return this._adopt(() => this.client.patchSession(sessionId, body));
  }

  dismiss(): void {
    this._trouble = null;
    this.emitChanged();
  }

  /** Try to connect now. */
  wake(): void {
    this._stream.wake();
    if (!this._loaded) {
      this._retry?.();
    }
  }

  override dispose(): void {
    if (this.isDisposed) {
      return;
    }
    this._stream.dispose();
    this._sessions.forEach(model => model.dispose());
    this._retry?.();
    super.dispose();
  }

  /** The stream begins where the list was read, so nothing falls between. */
  private async _start(): Promise<void> {
    for (let wait = 1000; !this.isDisposed && !this._loaded; wait = Math.min(2 * wait, 15_000)) {
      try {
        const { last_seq: last } = await this.client.info();
        await this._readList();
        if (!this.isDisposed) {
          this._stream.start(last);
        }
      } catch (error) {
        this._trouble = asTrouble(error);
        this.emitChanged();
        await new Promise<void>(resolve => {
          const timer = setTimeout(resolve, wait);
          this._retry = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
    }
  }

  private async _readList(): Promise<void> {
    const list = await this.client.sessions();
    if (this.isDisposed) {
      return;
    }
    this._list = list;
    this._loaded = true;
    this._trouble = null;
    this.emitChanged();
  }

  private async _startOver(): Promise<void> {
    this._drafts.clear();
    await this._readList().catch(error => {
      this._trouble = asTrouble(error);
      this.emitChanged();
    });
    await Promise.all([...this._sessions.values()].map(model => model.reload()));
  }

  /** The server is there again: read what could not be read, forget what it did not answer. */
  private _catchUp(): void {
    if (this._trouble?.offline) {
      this._trouble = null;
    }
    this._sessions.forEach(model => {
      if (!model.loaded) {
        void model.reload();
      } else if (model.trouble?.offline) {
        model.dismiss();
      }
    });
  }

  private _take(event: AnyStored): void {
    const id = event.session_id;
    this._drafts.set(id, settle(this.drafts(id), event));
    const list = summarizeAll(this._list, event);
    this._sessions.get(id)?.take(event);
    if (list !== this._list) {
      this._list = list;
      this.emitChanged();
    }
  }

  private _takeDelta(delta: Delta): void {
    this._drafts.set(delta.session_id, applyDelta(this.drafts(delta.session_id), delta));
    this._sessions.get(delta.session_id)?.touch();
  }

  /** Put the answer of a request into the list at once; its events change nothing more. */
  private async _adopt(request: () => Promise<SessionSummary>): Promise<SessionSummary | null> {
    try {
      const summary = await request();
      const old = this.summary(summary.session_id);
      if (old === undefined || old.last_seq < summary.last_seq) {
        const others = this._list.filter(entry => entry.session_id !== summary.session_id);
        this._list = [summary, ...others];
      }
      this._trouble = null;
      return summary;
    } catch (error) {
      this._trouble = asTrouble(error);
      return null;
    } finally {
      this.emitChanged();
    }
  }

  private _list: readonly SessionSummary[] = [];
  private _loaded = false;
  private _trouble: Trouble | null = null;
  private _retry: (() => void) | null = null;
  private readonly _sessions = new Map<string, SessionModel>();
  private readonly _drafts = new Map<string, Drafts>();
}
