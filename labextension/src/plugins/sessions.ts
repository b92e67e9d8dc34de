import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Client } from '../api/client';
import { ServerTransport } from '../api/server';
import { EventStream } from '../api/stream';
import { SessionsModel } from '../model/sessions';
import { ISessions } from '../tokens';

export const sessions: JupyterFrontEndPlugin<ISessions> = {
  id: 'jupyter_pernix:sessions',
  description: 'Keeps the agent sessions of this server current.',
  autoStart: true,
  provides: ISessions,
  activate: (app: JupyterFrontEnd): ISessions => {
    const transport = new ServerTransport(app.serviceManager.serverSettings);
    const model = new SessionsModel(new Client(transport), new EventStream({ transport }));
    window.addEventListener('online', () => model.wake());
    document.addEventListener('visibilitychange', () => {
      if (document.visibilityState === 'visible') {
        model.wake();
      }
    });
    return { model };
  }
};
