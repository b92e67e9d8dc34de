import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { CodeCell } from '@jupyterlab/cells';
import { INotebookTracker, type NotebookPanel } from '@jupyterlab/notebook';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import type { JSONObject } from '@lumino/coreutils';
import { LIVE_MIME, type Places, WIDGET_MIME, widgetFactory } from '../mime/widget';

/** Before the live widgets' own renderer, which is at -10. */
const RANK = -20;

/** Whether one of the notebook's outputs is this widget. */
function holds(panel: NotebookPanel, modelId: string): boolean {
  return panel.content.widgets.some(cell => {
    const outputs = cell instanceof CodeCell ? cell.model.outputs : null;
    for (let at = 0; at < (outputs?.length ?? 0); at++) {
      if ((outputs?.get(at).data[WIDGET_MIME] as JSONObject | undefined)?.model_id === modelId) {
        return true;
      }
    }
    return false;
  });
}

function placesIn(notebooks: INotebookTracker, base: IRenderMimeRegistry): Places {
  return {
    find: (renderer, modelId) => {
      const panel =
        notebooks.find(each => each.node.contains(renderer.node)) ??
        // An output may be shown in a tab of its own.
        notebooks.find(each => holds(each, modelId));
      if (panel === undefined) {
        return null;
      }
      const registry = panel.content.rendermime;
      return {
        registry,
        session: panel.sessionContext,
        // All documents begin with a renderer that waits for a manager of widgets, and get one of their own with theirs.
        isReady: () => registry.getFactory(LIVE_MIME) !== base.getFactory(LIVE_MIME)
      };
    },
    grown: notebooks.widgetAdded
  };
}

export const widgets: JupyterFrontEndPlugin<void> = {
  id: 'jupyter_pernix:widgets',
  description: 'Shows the widgets of notebooks live, or as they were when the notebook was saved.',
  autoStart: true,
  requires: [IRenderMimeRegistry],
  optional: [INotebookTracker],
  activate: (_: JupyterFrontEnd, rendermime: IRenderMimeRegistry, notebooks: INotebookTracker | null) => {
    rendermime.addFactory(widgetFactory(notebooks && placesIn(notebooks, rendermime)), RANK);
  }
};
