/** The agent's changes in each open notebook that the user has not decided about. */
import type { Client } from '../api/client';
import type { EventStream } from '../api/stream';
import type { CellChangeView, ChangeDecision } from '../api/types.gen';
import { isKnown, type AnyStored } from '../model/reduce';
import { Signal, type ISignal } from '@lumino/signaling';
import type { OpenDocument } from './document';
import type { Documents } from './documents';
import { groupChanges, type ChangeGroup } from './groups';

export class Changes {
  constructor(
    private readonly _documents: Documents,
    private readonly _client: Client,
    stream: EventStream
  ) {
    stream.stored.connect((_, event) => this._take(event));
    stream.reset.connect(() => {
      this._views.clear();
      this._decided.clear();
      _documents.documents.forEach(document => void this._read(document));
    });
    _documents.changed.connect(() => this._forgetSaved());
    _documents.opened.connect((_, document) => void this._read(document));
    _documents.closed.connect((_, document) => {
      this._views.delete(document);
      this._unsaved.delete(document);
    });
    _documents.documents.forEach(document => void this._read(document));
  }

  get changed(): ISignal<this, OpenDocument> {
    return this._changed;
  }

  groups(document: OpenDocument): ChangeGroup[] {
    return groupChanges([...(this._views.get(document)?.values() ?? [])]);
  }

  /** What was kept, but is lost when the page goes before it has saved the notebook. */
  keptUnsaved(document: OpenDocument): ChangeGroup[] {
    const kept = [...(this._unsaved.get(document)?.values() ?? [])].filter(view => view !== null);
    return groupChanges(kept);
  }

  /**
   * Decide about changes, the last one first when they are undone. What a decision could not restore comes back in words.
   *
   * Throws `RequestFailed` with the reason if one cannot be undone; those before it are.
   */
  async decide(changeIds: readonly string[], decision: ChangeDecision): Promise<string[]> {
    const order = decision === 'undo' ? [...changeIds].reverse() : changeIds;
    const details: string[] = [];
    for (const id of order) {
      const view = await this._client.decideChange(id, { decision });
      this._settle(id, decision);
      if (view.detail !== '') {
        details.push(view.detail);
      }
    }
    return [...new Set(details)];
  }

  private _take(event: AnyStored): void {
    if (!isKnown(event)) {
      return;
    }
    switch (event.type) {
      case 'cell.change_requested': {
        const document = this._documents.find(event.change.path);
        if (document !== null) {
          this._put(document, {
            change: event.change,
            turn_id: event.turn_id,
            status: 'requested',
            owner: null,
            detail: ''
          });
        }
        break;
      }
      case 'cell.changed':
        this._made(event.change_id, event.owner === 'page');
        break;
      case 'cell.change_refused':
        this._settle(event.change_id);
        break;
      case 'cell.change_resolved':
        this._settle(event.change_id, event.decision);
        break;
    }
  }

  private _put(document: OpenDocument, view: CellChangeView): void {
    const { change_id: id } = view.change;
    if (!this._decided.has(id)) {
      const views = this._views.get(document) ?? new Map<string, CellChangeView>();
      views.set(id, view);
      this._views.set(document, views);
    }
  }

  private _made(changeId: string, byPage: boolean): void {
    for (const [document, views] of this._views) {
      const view = views.get(changeId);
      if (view !== undefined) {
        views.set(changeId, { ...view, status: 'made' });
        if (byPage && !document.isDisposed && document.dirty) {
          const unsaved = this._unsaved.get(document) ?? new Map<string, CellChangeView | null>();
          this._unsaved.set(document, unsaved.set(changeId, null));
        }
        this._changed.emit(document);
      }
    }
  }

  private _settle(changeId: string, decision?: ChangeDecision): void {
    this._decided.add(changeId);
    for (const [document, views] of this._views) {
      const view = views.get(changeId);
      if (view !== undefined) {
        views.delete(changeId);
        const unsaved = this._unsaved.get(document);
        if (decision === 'keep' && unsaved?.has(changeId)) {
          unsaved.set(changeId, view);
        } else {
          unsaved?.delete(changeId);
        }
        this._changed.emit(document);
      }
    }
  }

  private _forgetSaved(): void {
    for (const document of this._unsaved.keys()) {
      if (document.isDisposed || !document.dirty) {
        this._unsaved.delete(document);
        this._changed.emit(document);
      }
    }
  }

  private async _read(document: OpenDocument): Promise<void> {
    try {
      await document.panel.context.ready;
      const views = document.isDisposed ? [] : await this._client.notebookChanges(document.path);
      if (!document.isDisposed) {
        const known = this._views.get(document);
        views
          .filter(view => known?.get(view.change.change_id)?.status !== 'made')
          .forEach(view => this._put(document, view));
        this._changed.emit(document);
      }
    } catch (error) {
      console.warn('jupyter_pernix: the changes of the notebook could not be read', error);
    }
  }

  private readonly _views = new Map<OpenDocument, Map<string, CellChangeView>>();
  /** Changes of this page that it has not saved since; null: not kept. */
  private readonly _unsaved = new Map<OpenDocument, Map<string, CellChangeView | null>>();
  /** What was answered or refused: an answer that was on its way does not bring it back. */
  private readonly _decided = new Set<string>();
  private readonly _changed = new Signal<this, OpenDocument>(this);
}
