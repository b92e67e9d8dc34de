import { Signal } from '@lumino/signaling';
import { Edits, type Watched } from './edited';

class Model {
  readonly collaborative = false;
  readonly contentChanged = new Signal<this, void>(this);
  readonly metadataChanged = new Signal<this, { key: string }>(this);
  readonly stateChanged = new Signal<this, { name: string; newValue: unknown }>(this);

  get dirty(): boolean {
    return this._dirty;
  }

  set dirty(value: boolean) {
    if (value !== this._dirty) {
      this._dirty = value;
      this.stateChanged.emit({ name: 'dirty', newValue: value });
    }
  }

  edit(): void {
    this.contentChanged.emit();
    this.dirty = true;
  }

  setMetadata(key: string): void {
    this.metadataChanged.emit({ key });
    this.edit();
  }

  private _dirty = false;
}

function watched(): { model: Model; edits: Edits } {
  const model = new Model();
  return { model, edits: Edits.of(model as unknown as Watched) };
}

test('what the kernel says of itself is no edit', () => {
  const { model, edits } = watched();
  model.setMetadata('language_info');
  model.setMetadata('kernelspec');
  expect([model.dirty, edits.some]).toEqual([true, false]);
});

test('an edit after it is one, told once, until it is saved', () => {
  const { model, edits } = watched();
  let begun = 0;
  edits.begun.connect(() => begun++);
  model.setMetadata('kernelspec');
  model.edit();
  model.edit();
  expect([edits.some, begun]).toEqual([true, 1]);
  model.dirty = false;
  expect(edits.some).toBe(false);
  model.setMetadata('title');
  expect([edits.some, begun]).toEqual([true, 2]);
});

test('what is done silently is no edit, and leaves edits as they are', () => {
  const { model, edits } = watched();
  edits.without(() => model.edit());
  expect([model.dirty, edits.some]).toEqual([false, false]);
  model.setMetadata('kernelspec');
  edits.without(() => model.edit());
  expect([model.dirty, edits.some]).toEqual([true, false]);
  model.edit();
  edits.without(() => model.edit());
  expect([model.dirty, edits.some]).toEqual([true, true]);
});

test('one that is dirty already counts as edited', () => {
  const model = new Model();
  model.edit();
  expect(Edits.of(model as unknown as Watched).some).toBe(true);
});
