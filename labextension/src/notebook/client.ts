/** What `Client` has not: routes whose answer tells its place in the log, and a request that outlives the page. */
import { send, type Transport } from '../api/transport';
import type { ExecutionView } from '../api/types.gen';

/** Views, and for each the last event of its session that it contains. */
export interface Executions {
  seqs: Readonly<Record<string, number>>;
  views: ExecutionView[];
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

  /** What runs in a notebook's cells, or has run and does not stand there yet. */
  async executions(path: string): Promise<Executions> {
    const response = await send(this._transport, 'GET', `notebooks/executions?path=${at(path)}`, 200);
    const seqs: Record<string, number> = JSON.parse(response.headers.get('X-Pernix-Seqs') ?? '{}');
    return { seqs, views: await response.json() };
  }
}
