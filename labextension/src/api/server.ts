import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';
import type { Transport } from './transport';

/** Requests with the token and XSRF headers that JupyterLab's own requests carry. */
export class ServerTransport implements Transport {
  constructor(private readonly _settings: ServerConnection.ISettings) {}

  request(path: string, init: RequestInit): Promise<Response> {
    const url = `${URLExt.join(this._settings.baseUrl, 'pernix/api')}/${path}`;
    return ServerConnection.makeRequest(url, init, this._settings);
  }
}
