/** What `Client` has not: routes whose answer tells its place in the log, and a request that outlives the page. */
import { send, type Transport } from '../api/transport';
import type { CellChangeView, ExecutionView } from '../api/types.gen';

/** Views, and the last event that they contain; null when the server does not say. */
export interface AsOf<T> {
  seq: number | null;
  views: T[];
}

const at = encodeURIComponent;

export class NotebookClient {
  constructor(private readonly _transport: Transport) {}

  /** Sent while the page goes; nobody waits for the answer. */
  closePage(pageId: string): void {
    this._transport
      .request(`pages/${at(pageId)}/close`, { method: 'POST', keepalive: true, body: '{}' })
      .catch(() => undefined);
  }

  changes(path: string): Promise<AsOf<CellChangeView>> {
    return this._asOf(`notebooks/changes?path=${at(path)}`);
  }

  executions(path: string): Promise<AsOf<ExecutionView>> {
    return this._asOf(`notebooks/executions?path=${at(path)}`);
  }

  private async _asOf<T>(path: string): Promise<AsOf<T>> {
    const response = await send(this._transport, 'GET', path, 200);
    const seq = Number(response.headers.get('X-Pernix-Seq') ?? NaN);
    return { seq: Number.isFinite(seq) ? seq : null, views: await response.json() };
  }
}
