import type { Mode } from '../../api/types.gen';
import { EndpointsModel } from '../../model/endpoints';
import { Observable } from '../../model/observable';
import type { SessionsModel } from '../../model/sessions';
import type { BrowserStore } from '../store';

export type Place =
  | { at: 'sessions' }
  | { at: 'models' }
  | { at: 'session'; sessionId: string }
  | { at: 'permissions'; sessionId: string };

/** What only the surroundings of the panel know. */
export interface Surroundings {
  /** Folder for a new session, relative to the server's root. */
  folder(): string;
  /** Mode of a new session; null lets the server decide. */
  mode(): Mode | null;
}

const PLACE = 'place';

/** Where the panel is: the list, a session, what it may do, or the models. A session comes back after a reload. */
export class WorkspaceModel extends Observable {
  constructor(
    readonly sessions: SessionsModel,
    private readonly _store: BrowserStore,
    private readonly _surroundings: Surroundings
  ) {
    super();
    this.endpoints = new EndpointsModel(sessions.client);
    const kept = _store.get(PLACE);
    this._place = kept.startsWith('ses_') ? { at: 'session', sessionId: kept } : { at: 'sessions' };
    sessions.changed.connect(this._settle, this);
    this.endpoints.changed.connect(this._settle, this);
  }

  readonly endpoints: EndpointsModel;

  get place(): Place {
    return this._place;
  }

  /** Increases each time the message field should take the focus. */
  get focus(): number {
    return this._focus;
  }

  /** Read the endpoints when the panel is seen for the first time. */
  appear(): void {
    if (!this._appeared) {
      this._appeared = true;
      void this.endpoints.refresh();
    }
  }

  showSessions(): void {
    this._go({ at: 'sessions' });
  }

  showModels(): void {
    if (this._place.at !== 'models') {
      this._before = this._place;
    }
    this._go({ at: 'models' });
    void this.endpoints.refresh();
  }

  /** Back to where one was before the models. */
  leaveModels(): void {
    this._go(this._before);
  }

  /** What a session may do: the shown one, else nothing. */
  showPermissions(): void {
    if (this._place.at === 'session') {
      this._go({ at: 'permissions', sessionId: this._place.sessionId });
    }
  }

  /** Back to the session whose permissions are shown. */
  leavePermissions(): void {
    if (this._place.at === 'permissions') {
      this._go({ at: 'session', sessionId: this._place.sessionId });
    }
  }

  /** The session that is shown, or whose permissions are; null when there is none. */
  get sessionId(): string | null {
    return 'sessionId' in this._place ? this._place.sessionId : null;
  }

  /** Increases each time the next open question should be gone to. */
  get seeking(): number {
    return this._seeking;
  }

  /** Go to the next question that waits: of the shown session and its workers, else of another one. False: none waits. */
  seekQuestion(): boolean {
    const { sessions } = this;
    const here = this.sessionId;
    if (here === null || sessions.questionsIn(here) === 0) {
      const other = sessions.list.find(entry => entry.open_approvals > 0);
      if (other === undefined) {
        return false;
      }
      this._go({ at: 'session', sessionId: other.session_id });
    } else if (this._place.at === 'permissions') {
      this.leavePermissions();
    }
    this._seeking++;
    this.emitChanged();
    return true;
  }

  /** Its models are read anew: another page or a command line may have added some. */
  open(sessionId: string): void {
    this._focus++;
    this._go({ at: 'session', sessionId });
    if (this._appeared) {
      void this.endpoints.refresh();
    }
  }

  /** Open a new session; one that is still empty and works in no notebook is taken rather than making another. */
  async create(): Promise<void> {
    const folder = this._surroundings.folder();
    const unused = this.sessions.list.find(
      entry =>
        entry.turns === 0 &&
        !entry.archived &&
        entry.parent === null &&
        entry.space_root === folder &&
        entry.title === '' &&
        entry.notebook === ''
    );
    const session =
      unused ?? (await this.sessions.create({ space_root: folder, mode: this._surroundings.mode() }));
    if (session !== null) {
      this.open(session.session_id);
    }
  }

  async tour(): Promise<void> {
    const session = await this.sessions.tour();
    if (session !== null) {
      this.open(session.session_id);
    }
  }

  draft(sessionId: string): string {
    return this._store.get(`draft:${sessionId}`);
  }

  keepDraft(sessionId: string, text: string): void {
    this._store.set(`draft:${sessionId}`, text);
  }

  override dispose(): void {
    this.endpoints.dispose();
    super.dispose();
  }

  private _go(place: Place): void {
    this._moved = true;
    this._place = place;
    this._store.set(PLACE, this.sessionId ?? '');
    this.emitChanged();
  }

  /** Once everything is known: a session that is gone is left, and a newcomer sees how to begin. */
  private _settle(): void {
    const { sessions, endpoints } = this;
    if (sessions.loaded && this.sessionId !== null && !sessions.summary(this.sessionId)) {
      this._go({ at: 'sessions' });
    } else if (sessions.loaded && endpoints.loaded && !this._moved && this._place.at === 'sessions') {
      if (sessions.list.length === 0 && endpoints.usable.length === 0) {
        this._moved = true;
        this._place = { at: 'models' };
        this.emitChanged();
      }
    }
  }

  private _place: Place;
  private _before: Place = { at: 'sessions' };
  private _moved = false;
  private _appeared = false;
  private _focus = 0;
  private _seeking = 0;
}
