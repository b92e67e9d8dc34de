/** The notebooks that this page has open, one for each document, however many views it has. */
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import type { Contents } from '@jupyterlab/services';
import { Signal, type ISignal } from '@lumino/signaling';
import { OpenDocument } from './document';
import { Edits } from './edited';

/** For so long a notebook also answers to the path that it had, in milliseconds. */
const OLD_PATH = 60_000;

type Context = NotebookPanel['context'];

interface Entry {
  document: OpenDocument;
  panels: NotebookPanel[];
  /** When the user last worked in it. */
  usedAt: number;
  oldPaths: Map<string, number>;
}

export class Documents {
  constructor(
    tracker: INotebookTracker,
    private readonly _contents: Contents.IManager
  ) {
    tracker.forEach(panel => this._add(panel));
    tracker.widgetAdded.connect((_, panel) => this._add(panel));
    tracker.currentChanged.connect((_, panel) => panel && this._touch(panel.context));
  }

  /** A document, or something that is told about it, is not what it was. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get opened(): ISignal<this, OpenDocument> {
    return this._opened;
  }

  get closed(): ISignal<this, OpenDocument> {
    return this._closed;
  }

  get entries(): readonly Readonly<Entry>[] {
    return [...this._entries.values()];
  }

  get documents(): OpenDocument[] {
    return this.entries.map(entry => entry.document);
  }

  /** All views of a document. */
  panels(document: OpenDocument): readonly NotebookPanel[] {
    return this._entries.get(document.panel.context)?.panels ?? [];
  }

  of(panel: NotebookPanel): OpenDocument | null {
    return this._entries.get(panel.context)?.document ?? null;
  }

  /** By its path, or by one that it had until just now. */
  find(path: string): OpenDocument | null {
    const since = Date.now() - OLD_PATH;
    const found =
      this.entries.find(entry => entry.document.path === path) ??
      this.entries.find(entry => (entry.oldPaths.get(path) ?? 0) > since);
    return found?.document ?? null;
  }

  private _add(panel: NotebookPanel): void {
    const { context } = panel;
    if (!['', 'RTC'].includes(this._contents.driveName(context.path))) {
      return;
    }
    let entry = this._entries.get(context);
    const fresh = entry === undefined;
    if (entry === undefined) {
      entry = {
        document: new OpenDocument(panel, this._contents),
        panels: [],
        usedAt: 0,
        oldPaths: new Map()
      };
      this._entries.set(context, entry);
      this._follow(context, entry);
    }
    entry.panels.push(panel);
    const touch = () => this._touch(context);
    panel.node.addEventListener('pointerdown', touch, { capture: true, passive: true });
    panel.node.addEventListener('keydown', touch, { capture: true, passive: true });
    panel.disposed.connect(() => this._remove(panel));
    if (fresh) {
      this._opened.emit(entry.document);
    }
    this._changed.emit();
  }

  private _follow(context: Context, entry: Entry): void {
    let { localPath: path } = context;
    const changed = () => this._changed.emit();
    context.pathChanged.connect(() => {
      entry.oldPaths.set(path, Date.now());
      path = context.localPath;
      changed();
    });
    context.model.stateChanged.connect(changed);
    Edits.of(context.model).begun.connect(changed);
    context.fileChanged.connect(changed);
    context.sessionContext.kernelChanged.connect(changed);
  }

  private _remove(panel: NotebookPanel): void {
    for (const [context, entry] of this._entries) {
      const left = entry.panels.filter(other => other !== panel);
      if (left.length === entry.panels.length) {
        continue;
      }
      entry.panels = left;
      const [other] = left;
      if (other === undefined) {
        this._entries.delete(context);
        this._closed.emit(entry.document);
      } else if (entry.document.panel === panel) {
        entry.document.panel = other;
      }
      this._changed.emit();
    }
  }

  private _touch(context: Context): void {
    const entry = this._entries.get(context);
    if (entry !== undefined) {
      entry.usedAt = Date.now();
      this._changed.emit();
    }
  }

  private readonly _entries = new Map<Context, Entry>();
  private readonly _changed = new Signal<this, void>(this);
  private readonly _opened = new Signal<this, OpenDocument>(this);
  private readonly _closed = new Signal<this, OpenDocument>(this);
}
