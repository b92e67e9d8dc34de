import { ReactWidget } from '@jupyterlab/apputils';
import { type IRenderMimeRegistry, MimeModel } from '@jupyterlab/rendermime';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import type { Message } from '@lumino/messaging';
import { Panel, PanelLayout, type Widget } from '@lumino/widgets';
import * as React from 'react';
import { WidgetView } from '../components/WidgetView';
import { type Still, stillFrom } from './still';

export const WIDGET_MIME = 'application/vnd.pernix.widget+json';
const LIVE_MIME = 'application/vnd.jupyter.widget-view+json';
/** What the widget's own module writes on its element, see `widgets/src/mount.tsx`. */
const ALIVE = '[data-pernix]';

/** Finds the renderers of the document in which a widget of ours lies; `null` if that cannot be said. */
export type FindRegistry = (renderer: Widget, modelId: string) => IRenderMimeRegistry | null;

/** The picture that a notebook keeps of a widget. */
class StillPicture extends ReactWidget {
  private _still: Still | null = null;

  draw(still: Still | null): void {
    this._still = still;
    this.update();
  }

  protected override render(): React.JSX.Element | null {
    const still = this._still;
    return still && <WidgetView kind={still.kind} get={name => still.state[name]} takenAt={still.takenAt} />;
  }
}

/**
 * A widget of ours in a notebook: live when its kernel has it, else as it was when the notebook was saved. An output that is not
 * trusted stays a picture, since a live widget runs code that its kernel sent.
 */
class RenderedWidget extends Panel implements IRenderMime.IRenderer {
  constructor(private readonly _find: FindRegistry) {
    super({ layout: new PanelLayout({ fitPolicy: 'set-no-constraint' }) });
    this.addClass('jp-PernixStill');
    this._live.addClass('jp-PernixStill-live');
    this._picture.addClass('jp-PernixStill-picture');
    this.addWidget(this._picture);
    this.addWidget(this._live);
    this._watch = new MutationObserver(() => this._tell());
    this._watch.observe(this._live.node, { childList: true, subtree: true, attributes: true });
  }

  override dispose(): void {
    this._watch.disconnect();
    super.dispose();
  }

  renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    const still = stillFrom(model.data[WIDGET_MIME]);
    this._picture.draw(still);
    const modelId = model.trusted && still !== null ? still.modelId : '';
    if (modelId !== this._modelId) {
      this._modelId = modelId;
      this._live.widgets.slice().forEach(child => child.dispose());
      if (this.isAttached) {
        this._goLive();
      }
    }
    return Promise.resolve();
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    this._goLive();
  }

  private _goLive(): void {
    if (this._modelId === '' || this._live.widgets.length > 0) {
      return;
    }
    const registry = this._find(this, this._modelId);
    if (registry === null || registry.getFactory(LIVE_MIME) === undefined) {
      return;
    }
    const renderer = registry.createRenderer(LIVE_MIME);
    this._live.addWidget(renderer);
    const source = { version_major: 2, version_minor: 0, model_id: this._modelId };
    renderer
      .renderModel(new MimeModel({ trusted: true, data: { [LIVE_MIME]: source } }))
      .catch(error => console.warn('A widget could not be shown live', error));
  }

  /** The picture gives way as long as the live widget is really there. */
  private _tell(): void {
    this.toggleClass('jp-mod-live', this._live.node.querySelector(ALIVE) !== null);
  }

  private readonly _picture = new StillPicture();
  private readonly _live = new Panel();
  private readonly _watch: MutationObserver;
  private _modelId = '';
}

export function widgetFactory(find: FindRegistry): IRenderMime.IRendererFactory {
  return {
    safe: true,
    mimeTypes: [WIDGET_MIME],
    createRenderer: () => new RenderedWidget(find)
  };
}
