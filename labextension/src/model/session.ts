import type { Client } from '../api/client';
import { asTrouble, type Trouble } from '../api/transport';
import type {
  ApprovalChoice,
  ChangeDecision,
  ChangedFile,
  FileUndone,
  Mention,
  SessionPatch,
  SessionView,
  TurnView,
  Variable
} from '../api/types.gen';
import { Observable } from './observable';
import { emptyView, reduce, reduceAll, type AnyStored } from './reduce';

/** One session that somebody looks at: its folded log, kept current by `take`. */
export class SessionModel extends Observable {
  constructor(
    private readonly _client: Client,
    readonly sessionId: string
  ) {
    super();
    this._view = emptyView(sessionId);
    void this.reload();
  }

  get view(): SessionView {
    return this._view;
  }

  /** False until the log was read for the first time. */
  get loaded(): boolean {
    return this._loaded;
  }

  /** What went wrong last, until it is dismissed or something works. */
  get trouble(): Trouble | null {
    return this._trouble;
  }

  /** The turn that is being carried out, if any. */
  get running(): TurnView | undefined {
    return this._view.turns.find(turn => turn.started_at !== null && turn.code === null);
  }

  /** Turns that wait for their place. */
  get queued(): TurnView[] {
    return this._view.turns.filter(turn => turn.started_at === null && turn.code === null);
  }

  /** Read the whole session again; events that come meanwhile are kept for after it. */
  reload(): Promise<void> {
    this._reading ??= this._read().finally(() => (this._reading = null));
    return this._reading;
  }

  /** Fold one stored event of this session. */
  take(event: AnyStored): void {
    if (this._waiting !== null) {
      this._waiting.push(event);
      return;
    }
    this._view = reduce(this._view, event);
    this._settlePause();
    this.emitChanged();
  }

  /** Say that the drafts changed, which are kept beside the session. */
  touch(): void {
    this.emitChanged();
  }

  dismiss(): void {
    this._trouble = null;
    this.emitChanged();
  }

  /** True when the message is safe on the server; otherwise `trouble` says why not. */
  send(text: string, mentions: Mention[] = []): Promise<boolean> {
    return this._try(() => this._client.submitTurn(this.sessionId, { text, origin: 'panel', mentions }));
  }

  /** Stop the running turn, or a compaction between turns; without either there is nothing to do. */
  stop(): Promise<boolean> {
    const turn = this.running;
    if (turn !== undefined) {
      return this.withdraw(turn.turn_id);
    }
    return this._view.state === 'idle_ready'
      ? Promise.resolve(true)
      : this._try(() => this._client.stop(this.sessionId));
  }

  /** Cancel a turn: a running one stops, a queued one is taken out. */
  withdraw(turnId: string): Promise<boolean> {
    return this._try(() => this._client.cancelTurn(this.sessionId, turnId));
  }

  /** Change the text of a message that still waits. */
  edit(turnId: string, text: string): Promise<boolean> {
    return this._try(() => this._client.editTurn(this.sessionId, turnId, { text }));
  }

  /** Hold the running turn after the step that it is in. */
  async pause(): Promise<boolean> {
    this._pausing = await this._try(() => this._client.pause(this.sessionId));
    this._settlePause();
    return this._pausing;
  }

  /** A pause was asked for that the session's state cannot show yet (it waits for a person, or for workers). */
  get pausing(): boolean {
    return this._pausing;
  }

  /** Make the model's input shorter now. */
  compact(): Promise<boolean> {
    return this._try(() => this._client.compact(this.sessionId));
  }

  /** Go on with a paused turn, or take up the work of one that was interrupted. */
  resume(): Promise<boolean> {
    this._pausing = false;
    return this._try(() => this._client.resume(this.sessionId));
  }

  /** `rules`: which of the offered ones to remember with a lasting yes, `null`: all. */
  answer(
    approvalId: string,
    choice: ApprovalChoice,
    text: string,
    rules: string[] | null = null
  ): Promise<boolean> {
    return this._try(() => this._client.answer(approvalId, { choice, text, rules }));
  }

  /** The files that were changed, with their diffs; `null` when they cannot be told, and `trouble` says why. */
  async files(): Promise<ChangedFile[] | null> {
    let found: ChangedFile[] | null = null;
    await this._try(async () => (found = await this._client.files(this.sessionId)));
    return found;
  }

  /** Put files back: all or `paths`, as they were before the session or before `turnId`; `null` when that failed as a whole. */
  async undo(turnId: string | null, paths: string[]): Promise<FileUndone[] | null> {
    let done: FileUndone[] | null = null;
    await this._try(
      async () => (done = await this._client.undoFiles(this.sessionId, { turn_id: turnId, paths }))
    );
    return done;
  }

  /** What running code asked for; `null`: the user will not answer. */
  answerInput(inputId: string, text: string | null): Promise<boolean> {
    return this._try(() => this._client.answerInput(inputId, { text }));
  }

  decideChange(changeId: string, decision: ChangeDecision): Promise<boolean> {
    return this._try(() => this._client.decideChange(changeId, { decision }));
  }

  /** All open changes of a turn. */
  decideChanges(turnId: string, decision: ChangeDecision): Promise<boolean> {
    return this._try(() => this._client.decideChanges(this.sessionId, turnId, { decision }));
  }

  /** None when they cannot be told: there is no kernel yet, or it cannot be looked into. */
  async variables(): Promise<readonly Variable[]> {
    try {
      return (await this._client.variables(this.sessionId)).variables;
    } catch {
      return [];
    }
  }

  detach(): Promise<boolean> {
    return this._try(() => this._client.detach(this.sessionId));
  }

  configure(patch: SessionPatch): Promise<boolean> {
    return this._try(() => this._client.patchSession(this.sessionId, patch));
  }

  sideFile(name: string): Promise<string> {
    return this._client.sideFile(this.sessionId, name);
  }

  private _settlePause(): void {
    if (['idle_ready', 'pause_requested', 'paused'].includes(this._view.state)) {
      this._pausing = false;
    }
  }

  private async _read(): Promise<void> {
    this._waiting = [];
    try {
      const view = await this._client.session(this.sessionId);
      if (this.isDisposed) {
        return;
      }
      this._view = reduceAll(view, this._waiting);
      this._loaded = true;
      this._waiting = null;
      this._trouble = null;
    } catch (error) {
      this._trouble = asTrouble(error);
    }
    this.emitChanged();
  }

  private async _try(action: () => Promise<unknown>): Promise<boolean> {
    try {
      await action();
      this._trouble = null;
      return true;
    } catch (error) {
      this._trouble = asTrouble(error);
      return false;
    } finally {
      this.emitChanged();
    }
  }

  private _view: SessionView;
  private _loaded = false;
  private _pausing = false;
  private _trouble: Trouble | null = null;
  private _reading: Promise<void> | null = null;
  private _waiting: AnyStored[] | null = [];
}
