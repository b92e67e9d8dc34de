import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Clipboard } from '@jupyterlab/apputils';
import { IEditorLanguageRegistry } from '@jupyterlab/codemirror';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { CommandIDs } from '../commands';
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

export const renderers: JupyterFrontEndPlugin<IRenderers> = {
  id: 'jupyter_pernix:renderers',
  description: 'Draws Markdown, code and outputs of agents, untrusted.',
  autoStart: true,
  provides: IRenderers,
  requires: [IRenderMimeRegistry, IEditorLanguageRegistry],
  activate: (
    app: JupyterFrontEnd,
    rendermime: IRenderMimeRegistry,
    languages: IEditorLanguageRegistry
  ): IRenderers => {
    const registry = guardedRegistry(rendermime);
    const insert = (code: string) => void app.commands.execute(CommandIDs.insertBelow, { code });
    const actions = { copy, insert };
    return {
      renderers: {
        Markdown: makeMarkdown({ registry, actions }),
        Code: makeCode(languages, actions),
        Outputs: makeOutputs(registry)
      }
    };
  }
};
