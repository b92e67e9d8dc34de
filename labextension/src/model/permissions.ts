import type { Client } from '../api/client';
import { asTrouble, type Trouble } from '../api/transport';
import type { Permissions } from '../api/types.gen';
import { Observable } from './observable';

/** Whether sandboxes work on the server's machine. */
export interface SandboxStatus {
  works: boolean;
  /** What keeps them from working, '' when they do. */
  why: string;
}

/** What one session may do unasked: saved rules, those of the session, and whether there can be a sandbox. */
export class PermissionsModel extends Observable {
  constructor(
    private readonly _client: Client,
    readonly sessionId: string
  ) {
    super();
    void this.refresh();
  }

  /** `null` until they were read. */
  get permissions(): Permissions | null {
    return this._permissions;
  }

  /** `null`: not known. */
  get sandbox(): SandboxStatus | null {
    return this._sandbox;
  }

  get trouble(): Trouble | null {
    return this._trouble;
  }

  async refresh(): Promise<void> {
    await this._do(async () => {
      this._permissions = await this._client.permissions(this.sessionId);
      this._sandbox = (await this._client.info()).sandbox ?? null;
    });
  }

  /** True when it is saved. */
  add(rule: string, given: { deny: boolean; everywhere: boolean }): Promise<boolean> {
    return this._do(async () => {
      this._permissions = await this._client.addPermission({ rule, session_id: this.sessionId, ...given });
    });
  }

  remove(rule: string, given: { deny: boolean; everywhere: boolean }): Promise<boolean> {
    return this._do(async () => {
      this._permissions = await this._client.removePermission({ rule, session_id: this.sessionId, ...given });
    });
  }

  /** Let a command of the folder be started. */
  giveConsent(digest: string): Promise<boolean> {
    return this._consent(() => this._client.giveConsent({ digest, session_id: this.sessionId }));
  }

  takeConsent(digest: string): Promise<boolean> {
    return this._consent(() => this._client.takeConsent({ digest, session_id: this.sessionId }));
  }

  dismiss(): void {
    this._trouble = null;
    this.emitChanged();
  }

  /** What waits may have changed since it was shown: then it is shown as it is now, and nothing was agreed to. */
  private async _consent(change: () => Promise<Permissions>): Promise<boolean> {
    const done = await this._do(async () => {
      this._permissions = await change();
    });
    if (!done) {
      const trouble = this._trouble;
      await this.refresh();
      this._trouble = trouble;
      this.emitChanged();
    }
    return done;
  }

  private async _do(action: () => Promise<void>): Promise<boolean> {
    try {
      await action();
      this._trouble = null;
      return true;
    } catch (error) {
      const trouble = asTrouble(error);
      // The form has one field: which field of the request was wrong says nothing to its user.
      this._trouble = { ...trouble, message: trouble.message.replace(/^\$\.\w+: /, '') };
      return false;
    } finally {
      this.emitChanged();
    }
  }

  private _permissions: Permissions | null = null;
  private _sandbox: SandboxStatus | null = null;
  private _trouble: Trouble | null = null;
}
