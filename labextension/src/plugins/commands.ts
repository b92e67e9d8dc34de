import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette, Notification } from '@jupyterlab/apputils';
import { ILauncher } from '@jupyterlab/launcher';
import { CommandIDs } from '../commands';
import { pernixIcon } from '../icon';
import { IWorkspace } from '../tokens';

const CATEGORY = 'Pernix';
const NO_ARGS = { args: { type: 'object', properties: {} } };
const ONE_SESSION = {
  args: {
    type: 'object',
    properties: { sessionId: { type: 'string', description: 'The id of the session' } },
    required: ['sessionId']
  }
};

function addCommands(app: JupyterFrontEnd, workspace: IWorkspace): void {
  const { commands } = app;
  commands.addCommand(CommandIDs.openPanel, {
    label: 'Open Pernix',
    caption: 'Open the agent workspace',
    icon: pernixIcon,
    describedBy: NO_ARGS,
    execute: () => workspace.show()
  });
  commands.addCommand(CommandIDs.newSession, {
    label: args => (args.isLauncher ? 'Pernix' : 'New Pernix Session'),
    caption: 'Start a new session with the agent',
    icon: pernixIcon,
    describedBy: NO_ARGS,
    execute: () => {
      workspace.show();
      return workspace.create();
    }
  });
  commands.addCommand(CommandIDs.openSession, {
    label: 'Open a Pernix Session',
    describedBy: ONE_SESSION,
    execute: args => {
      if (typeof args.sessionId === 'string') {
        workspace.open(args.sessionId);
      }
    }
  });
  commands.addCommand(CommandIDs.openModels, {
    label: 'Pernix Models…',
    caption: 'Add, test and choose the models that answer',
    describedBy: NO_ARGS,
    execute: () => {
      workspace.show();
      workspace.showModels();
    }
  });
  commands.addCommand(CommandIDs.openRecord, {
    label: 'Open the Run Notebook of the Pernix Session',
    describedBy: NO_ARGS,
    isEnabled: () => workspace.recordPath() !== '',
    execute: () => commands.execute('docmanager:open', { path: workspace.recordPath() })
  });
  commands.addCommand(CommandIDs.stopTurn, {
    label: 'Stop Pernix',
    caption: 'Stop what the session in the panel is doing',
    describedBy: NO_ARGS,
    execute: () => workspace.stop()
  });
  commands.addCommand(CommandIDs.pauseTurn, {
    label: 'Pause Pernix after This Step',
    caption: 'Hold what the session in the panel is doing',
    describedBy: NO_ARGS,
    execute: () => workspace.pause()
  });
  commands.addCommand(CommandIDs.resumeTurn, {
    label: 'Resume Pernix',
    caption: 'Go on with what was paused or interrupted',
    describedBy: NO_ARGS,
    execute: () => workspace.resume()
  });
  commands.addCommand(CommandIDs.compactSession, {
    label: 'Compact the Context of the Pernix Session',
    caption: 'Put a summary in the place of older turns',
    describedBy: NO_ARGS,
    execute: () => workspace.compact()
  });
  commands.addCommand(CommandIDs.showPermissions, {
    label: 'Permissions of the Pernix Session…',
    caption: 'What the session in the panel may do unasked, and what never',
    describedBy: NO_ARGS,
    isEnabled: () => workspace.hasSession(),
    execute: () => {
      workspace.show();
      workspace.showPermissions();
    }
  });
  commands.addCommand(CommandIDs.nextQuestion, {
    label: 'Go to the Next Question of Pernix',
    caption: 'Show and focus a question that waits for your answer',
    describedBy: NO_ARGS,
    execute: () => {
      workspace.show();
      if (!workspace.seekQuestion()) {
        Notification.info('Pernix asks nothing now.', { autoClose: 3000 });
      }
    }
  });
  commands.addCommand(CommandIDs.takeTour, {
    label: 'Take the Pernix Tour (recorded, not a model)',
    describedBy: NO_ARGS,
    execute: () => {
      workspace.show();
      return workspace.tour();
    }
  });
}

export const commands: JupyterFrontEndPlugin<void> = {
  id: 'jupyter_pernix:commands',
  description: 'Commands, palette and launcher card of the agent workspace.',
  autoStart: true,
  requires: [IWorkspace],
  optional: [ICommandPalette, ILauncher],
  activate: (
    app: JupyterFrontEnd,
    workspace: IWorkspace,
    palette: ICommandPalette | null,
    launcher: ILauncher | null
  ) => {
    addCommands(app, workspace);
    [
      CommandIDs.openPanel,
      CommandIDs.newSession,
      CommandIDs.openModels,
      CommandIDs.openRecord,
      CommandIDs.stopTurn,
      CommandIDs.pauseTurn,
      CommandIDs.resumeTurn,
      CommandIDs.compactSession,
      CommandIDs.showPermissions,
      CommandIDs.nextQuestion,
      CommandIDs.takeTour
    ].forEach(command => palette?.addItem({ command, category: CATEGORY }));
    launcher?.add({ command: CommandIDs.newSession, category: 'Other', rank: 0, args: { isLauncher: true } });
  }
};
