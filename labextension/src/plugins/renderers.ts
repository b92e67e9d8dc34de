import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Clipboard, Notification } from '@jupyterlab/apputils';
import { IEditorLanguageRegistry } from '@jupyterlab/codemirror';
import { INotebookTracker, NotebookActions } from '@jupyterlab/notebook';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { makeCode } from '../rendering/code';
import { makeMarkdown } from '../rendering/markdown';
import { makeOutputs } from '../rendering/outputs';
import { guardedRegistry } from '../rendering/registry';
import { IRenderers } from '../tokens';

async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // The browser allows that in secure contexts only.
    Clipboard.copyToSystem(text);
  }
}

/** Put code into a new cell below the active one of the notebook that was used last. */
function insertInto(tracker: INotebookTracker | null, text: string): void {
  const panel = tracker?.currentWidget;
  if (!panel) {
    Notification.warning('Open a notebook first; the code goes below its active cell.', { autoClose: 4000 });
    return;
  }
  const { content } = panel;
  NotebookActions.insertBelow(content);
  content.activeCell?.model.sharedModel.setSource(text);
  Notification.success(`Inserted into ${panel.title.label}.`, { autoClose: 2000 });
}

export const renderers: JupyterFrontEndPlugin<IRenderers> = {
  id: 'jupyter_pernix:renderers',
  description: 'Draws Markdown, code and outputs of agents, untrusted.',
  autoStart: true,
  provides: IRenderers,
  requires: [IRenderMimeRegistry, IEditorLanguageRegistry],
  optional: [INotebookTracker],
  activate: (
    _: JupyterFrontEnd,
    rendermime: IRenderMimeRegistry,
    languages: IEditorLanguageRegistry,
    tracker: INotebookTracker | null
  ): IRenderers => {
    const registry = guardedRegistry(rendermime);
    const actions = { copy, insert: (text: string) => insertInto(tracker, text) };
    return {
      renderers: {
        Markdown: makeMarkdown({ registry, actions }),
        Code: makeCode(languages, actions),
        Outputs: makeOutputs(registry)
      }
    };
  }
};
