import { type ISessionContext, ReactWidget } from '@jupyterlab/apputils';
import { type IRenderMimeRegistry, MimeModel } from '@jupyterlab/rendermime';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import type { Message } from '@lumino/messaging';
import { type ISignal, Signal } from '@lumino/signaling';
import { Panel, PanelLayout, type Widget } from '@lumino/widgets';
import * as React from 'react';
import { WidgetView } from '../components/WidgetView';
import { type Still, stillFrom } from './still';

export const WIDGET_MIME = 'application/vnd.pernix.widget+json';
export const LIVE_MIME = 'application/vnd.jupyter.widget-view+json';
/** What the widget's own module writes on its element, see `widgets/src/mount.tsx`. */
const ALIVE = '[data-pernix]';

/** The document in which a widget lies: its renderers, and the session of its kernel. */
export interface Place {
  registry: IRenderMimeRegistry;
  /** Whether live widgets can be drawn there by now. */
  isReady: () => boolean;
  session: ISessionContext;
}

/** Where widgets may lie. `grown`: there is a document more; an output may be drawn before its document is known. */
export interface Places {
  find: (renderer: Widget, modelId: string) => Place | null;
  grown: ISignal<unknown, unknown>;
}

/** Kernels that answer, or soon will. */
const ALIVE_STATES: ReadonlySet<string> = new Set(['starting', 'idle', 'busy', 'unknown']);

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
  constructor(private readonly _places: Places | null) {
    super({ layout: new PanelLayout({ fitPolicy: 'set-no-constraint' }) });
    this.addClass('jp-PernixStill');
    this._live.addClass('jp-PernixStill-live');
    this._picture.addClass('jp-PernixStill-picture');
    this.addWidget(this._picture);
    this.addWidget(this._live);
    this._watch = new MutationObserver(() => this._tell());
    this._watch.observe(this._live.node, { childList: true, subtree: true });
    _places?.grown.connect(this._onGrown, this);
  }

  override dispose(): void {
    this._watch.disconnect();
    Signal.clearData(this);
    super.dispose();
  }

  renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    const still = stillFrom(model.data[WIDGET_MIME]);
    this._picture.draw(still);
    const wanted = model.trusted && still !== null && still.modelId !== '' ? still : null;
    if (wanted?.modelId !== this._wanted?.modelId) {
      this._drop();
      this._wanted = wanted;
    }
    if (this.isAttached) {
      this._goLive();
    }
    return Promise.resolve();
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    this._goLive();
  }

  private _goLive(): void {
    if (this._wanted === null || this._live.widgets.length > 0) {
      return;
    }
    this._place ??= this._found(this._wanted.modelId);
    if (this._place === null || !this._place.isReady() || !this._hasKernel(this._place.session)) {
      return;
    }
    const renderer = this._place.registry.createRenderer(LIVE_MIME);
    this._live.addWidget(renderer);
    const source = { version_major: 2, version_minor: 0, model_id: this._wanted.modelId };
    renderer
      .renderModel(new MimeModel({ trusted: true, data: { [LIVE_MIME]: source } }))
      .catch(error => console.warn('A widget could not be shown live', error));
  }

  private _found(modelId: string): Place | null {
    const place = this._places?.find(this, modelId) ?? null;
    place?.session.kernelChanged.connect(this._onKernel, this);
    place?.session.statusChanged.connect(this._onKernel, this);
    return place;
  }

  /** Whether the kernel that made the widget is there. */
  private _hasKernel(session: ISessionContext): boolean {
    const kernel = session.session?.kernel ?? null;
    const known = this._wanted?.kernelId ?? '';
    return kernel !== null && ALIVE_STATES.has(kernel.status) && (known === '' || known === kernel.id);
  }

  private _onGrown(): void {
    // Whoever else hears of a new document prepares it first.
    queueMicrotask(() => {
      if (!this.isDisposed && this.isAttached) {
        this._goLive();
      }
    });
  }

  private _onKernel(session: ISessionContext): void {
    if (this._hasKernel(session)) {
      this._goLive();
      return;
    }
    this._drop();
    if (session.session?.kernel?.status.endsWith('restarting')) {
      // It comes back under its old name, without the widget.
      this._wanted = null;
    }
  }

  private _drop(): void {
    this._live.widgets.slice().forEach(child => child.dispose());
    this._tell();
  }

  /** The picture gives way as long as the live widget is really there. */
  private _tell(): void {
    this.toggleClass('jp-mod-live', this._live.node.querySelector(ALIVE) !== null);
  }

  private readonly _picture = new StillPicture();
  private readonly _live = new Panel();
  private readonly _watch: MutationObserver;
  private _wanted: Still | null = null;
  private _place: Place | null = null;
}

/** `places` `null`: there are no documents; everything stays a picture. */
export function widgetFactory(places: Places | null): IRenderMime.IRendererFactory {
  return {
    safe: true,
    mimeTypes: [WIDGET_MIME],
    createRenderer: () => new RenderedWidget(places)
  };
}
