import { ReactWidget } from '@jupyterlab/apputils';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import * as React from 'react';
import type { CallView } from '../api/types.gen';
import { CallCard } from '../components/CallCard';
import { RenderersContext, type Renderers } from '../components/renderers';
import { callFrom } from './call';

export const TOOL_CALL_MIME = 'application/vnd.pernix.tool-call+json';

/** The card of a tool call among the outputs of a run notebook. */
class RenderedToolCall extends ReactWidget implements IRenderMime.IRenderer {
  constructor(private readonly _renderers: Renderers) {
    super();
    this.addClass('jp-Pernix-mime');
  }

  renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    this._call = callFrom(model.data[TOOL_CALL_MIME]);
    this.update();
    return this.renderPromise ?? Promise.resolve();
  }

  protected override render(): React.JSX.Element {
    return (
      <RenderersContext.Provider value={this._renderers}>
        {this._call && <CallCard call={this._call} />}
      </RenderersContext.Provider>
    );
  }

  private _call: CallView | null = null;
}

/** Safe: it shows text, and what it draws otherwise goes through our guard. */
export function toolCallFactory(renderers: Renderers): IRenderMime.IRendererFactory {
  return {
    safe: true,
    mimeTypes: [TOOL_CALL_MIME],
    defaultRank: 50,
    createRenderer: () => new RenderedToolCall(renderers)
  };
}
