import type { Client, EndpointList } from '../api/client';
import { asTrouble, type Trouble } from '../api/transport';
import type { Discovery, EndpointCreate, EndpointInfo, LocalStatus } from '../api/types.gen';
import { Observable } from './observable';

/** The name of the endpoint that serves a file of this machine. */
const LOCAL = 'local';

/** Which models can be had: configured endpoints, what loopback probes found, files that we can serve. */
export class EndpointsModel extends Observable {
  constructor(private readonly _client: Client) {
    super();
  }

  get endpoints(): readonly EndpointInfo[] {
    return this._endpoints;
  }

  get discoveries(): readonly Discovery[] {
    return this._discoveries;
  }

  /** Null until it was asked for. */
  get local(): LocalStatus | null {
    return this._local;
  }

  get loaded(): boolean {
    return this._loaded;
  }

  /** What is being done now, in words; '' is nothing. */
  get busy(): string {
    return this._busy;
  }

  get trouble(): Trouble | null {
    return this._trouble;
  }

  /** An endpoint that a session can use; the recorded tour is none. */
  get usable(): readonly EndpointInfo[] {
    return this._endpoints.filter(entry => entry.kind !== 'tour' && entry.status !== 'failed');
  }

  /** The one by that name, or the default one for null; undefined when it is not known. */
  of(name: string | null): EndpointInfo | undefined {
    return this._endpoints.find(entry => (name === null ? entry.default : entry.name === name));
  }

  /** Read everything, without probing. */
  async refresh(): Promise<void> {
    await this._do('', async () => this._takeList(await this._client.endpoints()));
    await this._do('', () => this._refreshLocal());
  }

  async discover(): Promise<void> {
    await this._do('Looking for local servers…', async () => this._takeList(await this._client.discover()));
  }

  /** True when it was saved; what the probe found is in `endpoints`. */
  add(body: EndpointCreate): Promise<boolean> {
    return this._do(`Trying ${body.base_url}…`, async () => {
      const added = await this._client.addEndpoint(body);
      this._takeList(await this._client.endpoints());
      this._put(added);
    });
  }

  async remove(name: string): Promise<void> {
    await this._do('', async () => {
      await this._client.removeEndpoint(name);
      this._takeList(await this._client.endpoints());
    });
  }

  async probe(name: string): Promise<void> {
    await this._do(`Trying ${name}…`, async () => this._put(await this._client.probe(name)));
  }

  async makeDefault(name: string): Promise<void> {
    await this._do('', async () => {
      await this._client.makeDefault(name);
      this._takeList(await this._client.endpoints());
    });
  }

  /** Serve a file; progress comes by asking until it is ready or has failed. */
  async startLocal(path: string): Promise<void> {
    await this._do('Starting the embedded model…', async () => {
      await this._client.startLocal({ path });
      await this._refreshLocal();
      while (!this.isDisposed && this._local?.models.some(model => model.state === 'loading')) {
        await new Promise(resolve => setTimeout(resolve, 1000));
        await this._refreshLocal();
        this.emitChanged();
      }
      this._takeList(await this._client.endpoints());
      if (this._endpoints.some(entry => entry.name === LOCAL && entry.status === 'unknown')) {
        this._busy = 'Finding out what it can do…';
        this.emitChanged();
        this._put(await this._client.probe(LOCAL));
      }
    });
  }

  async stopLocal(): Promise<void> {
    await this._do('Stopping the embedded model…', async () => {
      await this._client.stopLocal();
      await this._refreshLocal();
      this._takeList(await this._client.endpoints());
    });
  }

  dismiss(): void {
    this._trouble = null;
    this.emitChanged();
  }

  private async _refreshLocal(): Promise<void> {
    this._local = await this._client.localStatus();
  }

  private _takeList(list: EndpointList): void {
    this._endpoints = list.endpoints;
    this._discoveries = list.discoveries;
    this._loaded = true;
  }

  private _put(endpoint: EndpointInfo): void {
    const known = this._endpoints.some(entry => entry.name === endpoint.name);
    this._endpoints = known
      ? this._endpoints.map(entry => (entry.name === endpoint.name ? endpoint : entry))
      : [...this._endpoints, endpoint];
  }

  private async _do(words: string, action: () => Promise<void>): Promise<boolean> {
    this._busy = words;
    this.emitChanged();
    try {
      await action();
      this._trouble = null;
      return true;
    } catch (error) {
      this._trouble = asTrouble(error);
      return false;
    } finally {
      this._busy = '';
      this.emitChanged();
    }
  }

  private _endpoints: readonly EndpointInfo[] = [];
  private _discoveries: readonly Discovery[] = [];
  private _local: LocalStatus | null = null;
  private _loaded = false;
  private _busy = '';
  private _trouble: Trouble | null = null;
}
