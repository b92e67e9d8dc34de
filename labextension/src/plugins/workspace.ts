import { ILayoutRestorer, type JupyterFrontEnd, type JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';
import { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import type { Mode } from '../api/types.gen';
import { CommandIDs } from '../commands';
import { MODES, NOTEBOOK } from '../components/words';
import { BrowserStore } from '../panels/store';
import { widen } from '../panels/widen';
import { Workspace } from '../panels/workspace';
import { WorkspaceModel } from '../panels/workspace/model';
import { IRenderers, ISessions, IWorkspace } from '../tokens';

const ID = 'jupyter_pernix:plugin';
/** Pixels in which code and tables can be read. */
const GOOD_WIDTH = 420;

function isMode(value: unknown): value is Mode {
  return typeof value === 'string' && value in MODES;
}

function kernelsOf(app: JupyterFrontEnd): ReadonlyMap<string, string> {
  const specs = app.serviceManager.kernelspecs.specs?.kernelspecs ?? {};
  return new Map(Object.entries(specs).map(([name, spec]) => [name, spec?.display_name ?? name]));
}

export const workspace: JupyterFrontEndPlugin<IWorkspace> = {
  id: ID,
  description: 'The panel of the agent workspace.',
  autoStart: true,
  provides: IWorkspace,
  requires: [ISessions, IRenderers],
  optional: [ILayoutRestorer, ISettingRegistry, IDefaultFileBrowser],
  activate: (
    app: JupyterFrontEnd,
    { model: sessions }: ISessions,
    { renderers }: IRenderers,
    restorer: ILayoutRestorer | null,
    registry: ISettingRegistry | null,
    files: IDefaultFileBrowser | null
  ): IWorkspace => {
    let settings: ISettingRegistry.ISettings | null = null;
    registry?.load(ID).then(
      loaded => (settings = loaded),
      error => console.error('jupyter_pernix: its settings could not be read', error)
    );
    const setting = (key: string): unknown => settings?.composite[key];
    const store = new BrowserStore(app.serviceManager.serverSettings.baseUrl);
    const model = new WorkspaceModel(sessions, store, {
      folder: () => (setting('followFileBrowser') === false ? '' : folderOf(files)),
      mode: () => {
        const mode = setting('mode');
        return isMode(mode) ? mode : null;
      }
    });
    const openFile = (path: string) => {
      app.commands.execute('docmanager:open', { path }).catch(() => {
        Notification.warning(`${path} could not be opened. Has it been moved or deleted?`);
      });
    };
    const attach = (sessionId: string) => {
      if (app.commands.isEnabled(CommandIDs.attachNotebook, { sessionId })) {
        void app.commands.execute(CommandIDs.attachNotebook, { sessionId });
      } else {
        Notification.warning(NOTEBOOK.none, { autoClose: 4000 });
      }
    };
    const widget = new Workspace(model, { openFile, attach, kernels: () => kernelsOf(app) }, renderers);
    app.shell.add(widget, 'right', { rank: 500, type: 'Pernix' });
    restorer?.add(widget, widget.id);
    widenOnce(app, widget, store);
    const face = faceOf(app, widget);
    const linked = new URLSearchParams(window.location.search).get('pernix');
    if (linked !== null) {
      void app.restored.then(() => face.open(linked));
    }
    return face;
  }
};

/** The first time that the panel is opened in this browser; what was restored keeps its size. */
function widenOnce(app: JupyterFrontEnd, widget: Workspace, store: BrowserStore): void {
  const onShown = () => {
    widget.appeared.disconnect(onShown);
    store.set('widened', 'yes');
    requestAnimationFrame(() => widen(widget, GOOD_WIDTH));
  };
  void app.restored.then(() => {
    if (store.get('widened') === '' && !widget.isDisposed) {
      widget.appeared.connect(onShown);
    }
  });
}

/** The drive's name, if any, is no part of a path on the server. */
function folderOf(files: IDefaultFileBrowser | null): string {
  const path = files?.model.path ?? '';
  return path.includes(':') ? '' : path;
}

function faceOf(app: JupyterFrontEnd, widget: Workspace): IWorkspace {
  const { model } = widget;
  const shown = () => (model.sessionId === null ? null : model.sessions.session(model.sessionId));
  return {
    show: () => app.shell.activateById(widget.id),
    open: sessionId => {
      model.open(sessionId);
      app.shell.activateById(widget.id);
    },
    create: () => model.create(),
    tour: () => model.tour(),
    showModels: () => model.showModels(),
    showPermissions: () => model.showPermissions(),
    hasSession: () => model.sessionId !== null,
    seekQuestion: () => model.seekQuestion(),
    stop: async () => {
      await shown()?.stop();
    },
    pause: async () => {
      await shown()?.pause();
    },
    resume: async () => {
      await shown()?.resume();
    },
    compact: async () => {
      await shown()?.compact();
    },
    recordPath: () => shown()?.view.record_path ?? '',
    notebookPath: () => shown()?.view.notebook?.path ?? ''
  };
}
