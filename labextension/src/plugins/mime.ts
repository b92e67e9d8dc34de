import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { mimeFactory } from '../mime/renderers';
import { IRenderers } from '../tokens';

export const mime: JupyterFrontEndPlugin<void> = {
  id: 'jupyter_pernix:mime',
  description: 'Shows the calls, questions and plans in run notebooks as cards.',
  autoStart: true,
  requires: [IRenderMimeRegistry, IRenderers],
  activate: (_: JupyterFrontEnd, rendermime: IRenderMimeRegistry, { renderers }: IRenderers) => {
    rendermime.addFactory(mimeFactory(renderers));
  }
};
