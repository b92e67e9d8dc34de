/**
 * Which notebooks hold edits. JupyterLab writes what the kernel says of itself into each notebook that it opens, and takes it for changed
 * from then on; nobody would miss that if it were lost, and nothing that the agent does needs to wait for it.
 */
import type { INotebookModel } from '@jupyterlab/notebook';
import { Signal, type ISignal } from '@lumino/signaling';

const OF_THE_KERNEL: readonly string[] = ['kernelspec', 'language_info'];

/** The part of a notebook's model that is watched. */
export type Watched = Pick<
  INotebookModel,
  'collaborative' | 'contentChanged' | 'dirty' | 'metadataChanged' | 'stateChanged'
>;

export class Edits {
  /** From the moment on in which it is opened; one that is dirty then counts as edited. */
  static of(model: Watched): Edits {
    const known = Edits._known.get(model) ?? new Edits(model);
    Edits._known.set(model, known);
    return known;
  }

  private constructor(private readonly _model: Watched) {
    this._edited = _model.dirty;
    let ofTheKernel = false;
    _model.metadataChanged.connect((_, { key }) => {
      ofTheKernel = OF_THE_KERNEL.includes(key);
    });
    _model.contentChanged.connect(() => {
      // a change of metadata is followed by this at once
      if (!ofTheKernel) {
        this._edit();
      }
      ofTheKernel = false;
    });
    _model.stateChanged.connect((_, { name, newValue }) => {
      if (name === 'dirty' && newValue === false) {
        this._edited = false;
      }
    });
  }

  /** There is something to be saved that is not only what the kernel says of itself. */
  get some(): boolean {
    return this._model.dirty && (this._edited || this._model.collaborative === true);
  }

  /** The first edit since it was saved. */
  get begun(): ISignal<this, void> {
    return this._begun;
  }

  /** What `action` does is no edit. */
  without<T>(action: () => T): T {
    const { dirty } = this._model;
    const edited = this._edited;
    this._silent++;
    try {
      return action();
    } finally {
      this._silent--;
      if (!dirty && this._model.dirty) {
        this._model.dirty = false;
      }
      this._edited = edited;
    }
  }

  private _edit(): void {
    if (!this._edited && this._silent === 0) {
      this._edited = true;
      this._begun.emit();
    }
  }

  private static readonly _known = new WeakMap<Watched, Edits>();
  private readonly _begun = new Signal<this, void>(this);
  private _edited: boolean;
  private _silent = 0;
}
