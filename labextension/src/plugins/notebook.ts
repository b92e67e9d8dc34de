import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette, Notification } from '@jupyterlab/apputils';
import { INotebookTracker, NotebookActions, type NotebookPanel } from '@jupyterlab/notebook';
import { ServerTransport } from '../api/server';
import { asTrouble } from '../api/transport';
import type { SessionSummary } from '../api/types.gen';
import { CommandIDs } from '../commands';
import { pernixIcon } from '../icon';
import { sessionAt } from '../notebook/ask';
import { Edits } from '../notebook/edited';
import { hasFailed } from '../notebook/failed';
import { ISessions, IWorkspace } from '../tokens';

const CATEGORY = 'Pernix';
const describe = (properties: Record<string, string>, required: string[] = []) => ({
  args: {
    type: 'object',
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, description]) => [name, { type: 'string', description }])
    ),
    required
  }
});
const ONE_CELL = describe({
  path: 'The notebook, relative to the root of the server; without it the one that was used last',
  cellId: 'The id of the cell; without it the active one'
});

interface Surroundings {
  app: JupyterFrontEnd;
  tracker: INotebookTracker;
  sessions: ISessions['model'];
  workspace: IWorkspace;
}

interface Place {
  panel: NotebookPanel;
  cellId: string;
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

function panelOf({ tracker }: Surroundings, path: string): NotebookPanel | null {
  return path === ''
    ? tracker.currentWidget
    : (tracker.find(panel => panel.context.localPath === path) ?? null);
}

function placeOf(around: Surroundings, args: { path?: unknown; cellId?: unknown }): Place | null {
  const panel = panelOf(around, text(args.path));
  const cellId = text(args.cellId) || panel?.content.activeCell?.model.id;
  return panel === null || cellId === undefined ? null : { panel, cellId };
}

function cellOf({ panel, cellId }: Place) {
  const cells = panel.content.model?.cells ?? [];
  return [...cells].find(cell => cell.id === cellId);
}

function failedPlace(place: Place | null): place is Place {
  const cell = place === null ? undefined : cellOf(place);
  return cell !== undefined && hasFailed(cell);
}

/** Bring a session at the notebook into the panel; a message says why there is none. */
async function open(around: Surroundings, path: string, idle: boolean): Promise<SessionSummary | null> {
  const { sessions, workspace } = around;
  workspace.show();
  const session = await sessionAt(sessions, path, idle);
  if (session !== null) {
    workspace.open(session.session_id);
  }
  return session;
}

async function attach(around: Surroundings, path: string, sessionId: string): Promise<void> {
  const { sessions, workspace } = around;
  if (sessionId === '') {
    await open(around, path, false);
    return;
  }
  try {
    await sessions.client.attach(sessionId, { path });
    workspace.open(sessionId);
  } catch (error) {
    Notification.warning(asTrouble(error).message, { autoClose: 8000 });
  }
}

/** A turn about one cell of the notebook that the session is attached to. */
async function ask(around: Surroundings, place: Place, words: string): Promise<void> {
  const session = await open(around, place.panel.context.localPath, true);
  if (session !== null) {
    keepInView(place);
    const mention = { kind: 'cell', name: place.cellId, path: '' } as const;
    await around.sessions.session(session.session_id).send(words, [mention]);
  }
}

/** A long traceback goes when the cell runs again; who had scrolled down along it would be left with nothing to see. */
function keepInView(place: Place): void {
  const { content } = place.panel;
  const index = content.widgets.findIndex(cell => cell.model.id === place.cellId);
  if (index >= 0) {
    void content.scrollToItem(index, 'start');
  }
}

const FIX = 'Fix the error in this cell.';
const EXPLAIN = 'Explain what this cell does.';
const EXPLAIN_ERROR = 'Explain the error in this cell.';

function explain(around: Surroundings, place: Place): Promise<void> {
  return ask(around, place, failedPlace(place) ? EXPLAIN_ERROR : EXPLAIN);
}

/** Into the notebook that the panel's session works in, if it is open, else into the one that was used last; as the user's own edit. */
function insertBelow(around: Surroundings, code: string): void {
  const { tracker, workspace } = around;
  const attached = workspace.notebookPath();
  const panel = (attached === '' ? null : panelOf(around, attached)) ?? tracker.currentWidget;
  if (panel === null) {
    Notification.warning('Open a notebook first; the code goes below its active cell.', { autoClose: 4000 });
    return;
  }
  const { content } = panel;
  NotebookActions.insertBelow(content);
  content.activeCell?.model.sharedModel.setSource(code);
  Notification.success(`Inserted into ${panel.title.label}.`, { autoClose: 2000 });
}

function addCommands(around: Surroundings): void {
  const { commands } = around.app;
  const changed = () =>
    [CommandIDs.attachNotebook, CommandIDs.fixCell, CommandIDs.explainCell, CommandIDs.insertBelow].forEach(
      id => commands.notifyCommandChanged(id)
    );
  commands.addCommand(CommandIDs.attachNotebook, {
    label: args => (args.toolbar ? '' : 'Work on This Notebook with Pernix'),
    caption: 'Open a Pernix session that works in this notebook and its kernel',
    icon: pernixIcon,
    describedBy: describe({
      path: 'The notebook, relative to the root of the server; without it the one that was used last',
      sessionId: 'Attach this session; without it the latest session of the notebook, or a new one'
    }),
    isEnabled: args => panelOf(around, text(args.path)) !== null,
    execute: async args => {
      const panel = panelOf(around, text(args.path));
      if (panel !== null) {
        await attach(around, panel.context.localPath, text(args.sessionId));
      }
    }
  });
  commands.addCommand(CommandIDs.fixCell, {
    label: args => (args.toolbar ? '' : 'Fix This Error with Pernix'),
    caption: 'Let Pernix find and mend what made this cell fail',
    icon: pernixIcon,
    describedBy: ONE_CELL,
    isEnabled: args => failedPlace(placeOf(around, args)),
    isVisible: args => failedPlace(placeOf(around, args)),
    execute: async args => {
      const place = placeOf(around, args);
      if (failedPlace(place)) {
        await ask(around, place, FIX);
      }
    }
  });
  commands.addCommand(CommandIDs.explainCell, {
    label: 'Explain This Cell with Pernix',
    icon: pernixIcon,
    describedBy: ONE_CELL,
    isEnabled: args => placeOf(around, args) !== null,
    execute: async args => {
      const place = placeOf(around, args);
      if (place !== null) {
        await explain(around, place);
      }
    }
  });
  commands.addCommand(CommandIDs.insertBelow, {
    label: 'Insert Code Below the Active Cell',
    describedBy: describe({ code: 'The code of the new cell' }, ['code']),
    execute: args => insertBelow(around, text(args.code))
  });
  around.tracker.currentChanged.connect(changed);
  around.tracker.activeCellChanged.connect(changed);
}

export const notebook: JupyterFrontEndPlugin<void> = {
  id: 'jupyter_pernix:notebook',
  description: 'The agent in open notebooks: its edits, what it runs, and what can be asked about a cell.',
  autoStart: true,
  requires: [ISessions, IWorkspace, INotebookTracker],
  optional: [ICommandPalette],
  activate: (
    app: JupyterFrontEnd,
    { model: sessions }: ISessions,
    workspace: IWorkspace,
    tracker: INotebookTracker,
    palette: ICommandPalette | null
  ) => {
    const around = { app, tracker, sessions, workspace };
    addCommands(around);
    [CommandIDs.attachNotebook, CommandIDs.fixCell, CommandIDs.explainCell].forEach(command =>
      palette?.addItem({ command, category: CATEGORY })
    );
    // Before anything else is loaded, or the first notebook would be dirty already.
    tracker.forEach(panel => Edits.of(panel.context.model));
    tracker.widgetAdded.connect((_, panel) => void Edits.of(panel.context.model));
    const watch = async () => {
      tracker.widgetAdded.disconnect(watch);
      const { watchNotebooks } = await import('../notebook');
      const page = watchNotebooks({
        tracker,
        contents: app.serviceManager.contents,
        sessions,
        transport: new ServerTransport(app.serviceManager.serverSettings),
        actions: {
          fix: (panel, cellId) => void ask(around, { panel, cellId }, FIX),
          explain: (panel, cellId) => void explain(around, { panel, cellId }),
          noticed: () => app.commands.notifyCommandChanged(CommandIDs.fixCell)
        }
      });
      app.shell.currentChanged?.connect(() => page.soon());
    };
    if (tracker.size > 0) {
      void watch();
    } else {
      tracker.widgetAdded.connect(watch);
    }
  }
};
