import { ReactWidget } from '@jupyterlab/apputils';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import * as React from 'react';
import { ApprovalRecord } from '../components/Approval';
import { CallCard } from '../components/CallCard';
import { PlanCard } from '../components/PlanCard';
import { RenderersContext, type Renderers } from '../components/renderers';
import { approvalFrom, planFrom } from './asked';
import { callFrom } from './call';

export const TOOL_CALL_MIME = 'application/vnd.pernix.tool-call+json';
export const APPROVAL_MIME = 'application/vnd.pernix.approval+json';
export const PLAN_MIME = 'application/vnd.pernix.plan+json';

const DRAWN: Readonly<Record<string, (data: unknown) => React.JSX.Element>> = {
  [TOOL_CALL_MIME]: data => <CallCard call={callFrom(data)} />,
  [APPROVAL_MIME]: data => <ApprovalRecord approval={approvalFrom(data)} />,
  [PLAN_MIME]: data => <PlanCard plan={planFrom(data)} running />
};

/** One of our outputs in a run notebook. */
class Rendered extends ReactWidget implements IRenderMime.IRenderer {
  constructor(
    private readonly _mime: string,
    private readonly _renderers: Renderers
  ) {
    super();
    this.addClass('jp-Pernix-mime');
  }

  renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    this._drawn = DRAWN[this._mime]?.(model.data[this._mime]) ?? null;
    this.update();
    return this.renderPromise ?? Promise.resolve();
  }

  protected override render(): React.JSX.Element {
    return <RenderersContext.Provider value={this._renderers}>{this._drawn}</RenderersContext.Provider>;
  }

  private _drawn: React.JSX.Element | null = null;
}

/** Safe: it shows text, and what it draws otherwise goes through our guard. */
export function mimeFactory(renderers: Renderers): IRenderMime.IRendererFactory {
  return {
    safe: true,
    mimeTypes: Object.keys(DRAWN),
    defaultRank: 50,
    createRenderer: ({ mimeType }) => new Rendered(mimeType, renderers)
  };
}
