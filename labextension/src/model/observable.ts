import type { IDisposable } from '@lumino/disposable';
import { Signal, type ISignal } from '@lumino/signaling';

/** A model that says when it changed. */
export class Observable implements IDisposable {
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get isDisposed(): boolean {
    return this._disposed;
  }

  /** May be called twice. */
  dispose(): void {
    if (!this._disposed) {
      this._disposed = true;
      Signal.clearData(this);
    }
  }

  protected emitChanged(): void {
    if (!this._disposed) {
      this._changed.emit();
    }
  }

  private readonly _changed = new Signal<this, void>(this);
  private _disposed = false;
}
