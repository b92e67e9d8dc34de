/** Tells the server what this page has open, for as long as the page lives. */
import { UUID } from '@lumino/coreutils';
import type { Client } from '../api/client';
import type { EventStream } from '../api/stream';
import type { OpenNotebook, PageState } from '../api/types.gen';
import type { NotebookClient } from './client';
import type { Documents } from './documents';

const SOON = 50;
/** The server forgets a page that it has not heard of for 30 s. */
const AGAIN = 10_000;

export class Page {
  constructor(
    private readonly _documents: Documents,
    private readonly _client: Client,
    private readonly _stream: EventStream,
    leaving: NotebookClient
  ) {
    _documents.changed.connect(() => this.soon());
    _stream.connectionChanged.connect((_, connection) => {
      if (connection.status === 'open') {
        this._told = '';
        this.soon();
      }
    });
    document.addEventListener('visibilitychange', () => this.soon());
    window.addEventListener('pagehide', () => {
      if (this._told !== '') {
        this._told = '';
        leaving.closePage(this.pageId);
      }
    });
    window.addEventListener('pageshow', () => this.soon());
    setInterval(() => void this._tell(true), AGAIN);
    this.soon();
  }

  /** Of this load of the page. */
  readonly pageId = `page_${UUID.uuid4()}`;

  /** Something may have changed. */
  soon(): void {
    this._timer ??= setTimeout(() => {
      this._timer = undefined;
      void this._tell(false);
    }, SOON);
  }

  /** What is asked of this page comes over the stream: without one it has nothing to offer. */
  private async _tell(again: boolean): Promise<void> {
    if (this._stream.connection.status !== 'open' || this._telling) {
      return;
    }
    const state: PageState = { page_id: this.pageId, notebooks: this._notebooks() };
    const told = JSON.stringify(state);
    const nothing = state.notebooks.length === 0 && (this._told === '' || again);
    if (nothing || (told === this._told && !again)) {
      return;
    }
    this._telling = true;
    try {
      await this._client.putPage(state);
      this._told = told;
    } catch {
      // It is told again soon; that it is away is shown where its sessions are.
      this._told = '';
      return;
    } finally {
      this._telling = false;
    }
    // What changed while the server was told.
    this.soon();
  }

  private _notebooks(): OpenNotebook[] {
    return this._documents.entries
      .filter(({ document }) => !document.isDisposed && document.panel.context.isReady)
      .map(({ document, panels, usedAt }) => ({
        path: document.path,
        kernel_id: document.panel.sessionContext.session?.kernel?.id ?? '',
        dirty: document.dirty,
        read_only: document.readOnly,
        visible: window.document.visibilityState === 'visible' && panels.some(panel => panel.isVisible),
        used_at: usedAt
      }));
  }

  private _timer: ReturnType<typeof setTimeout> | undefined;
  private _telling = false;
  private _told = '';
}
