/** Small texts that outlive a reload, kept by the browser. A browser that keeps nothing only forgets. */
export class BrowserStore {
  /** `scope` keeps the servers of one host apart. */
  constructor(private readonly _scope: string) {}

  /** The tab's own value, else what any tab wrote last. */
  get(key: string): string {
    return this._read(() => sessionStorage, key) ?? this._read(() => localStorage, key) ?? '';
  }

  /** '' forgets. */
  set(key: string, value: string): void {
    for (const storage of [() => sessionStorage, () => localStorage]) {
      try {
        if (value === '') {
          storage().removeItem(this._name(key));
        } else {
          storage().setItem(this._name(key), value);
        }
      } catch {
        // Storage may be full or forbidden.
      }
    }
  }

  private _read(storage: () => Storage, key: string): string | null {
    try {
      return storage().getItem(this._name(key));
    } catch {
      return null;
    }
  }

  private _name(key: string): string {
    return `jupyter_pernix:${this._scope}:${key}`;
  }
}
