import { ReactWidget } from '@jupyterlab/apputils';
import type { Message } from '@lumino/messaging';
import { type ISignal, Signal } from '@lumino/signaling';
import * as React from 'react';
import { RenderersContext, type Renderers } from '../../components/renderers';
import { Body, type WorkspaceActions } from './body';
import type { WorkspaceModel } from './model';
import { pernixIcon } from '../../icon';

/** The panel in the side area. */
export class Workspace extends ReactWidget {
  constructor(
    readonly model: WorkspaceModel,
    private readonly _actions: WorkspaceActions,
    private readonly _renderers: Renderers
  ) {
    super();
    this.id = 'jp-Pernix-workspace';
    this.addClass('jp-Pernix-panel');
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', 'Pernix');
    this.title.icon = pernixIcon;
    this.title.caption = 'Pernix';
    model.sessions.changed.connect(this._label, this);
  }

  /** Emitted each time that it comes into sight. */
  get appeared(): ISignal<this, void> {
    return this._appeared;
  }

  override dispose(): void {
    if (!this.isDisposed) {
      this.model.sessions.changed.disconnect(this._label, this);
      this.model.dispose();
      super.dispose();
    }
  }

  protected override render(): React.JSX.Element {
    return (
      <RenderersContext.Provider value={this._renderers}>
        <Body model={this.model} actions={this._actions} />
      </RenderersContext.Provider>
    );
  }

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this.model.appear();
    this._appeared.emit();
  }

  protected override onActivateRequest(message: Message): void {
    super.onActivateRequest(message);
    if (this.node.contains(document.activeElement)) {
      return; // A question was gone to, or somebody works here already.
    }
    const field = this.node.querySelector<HTMLElement>('textarea');
    (field ?? this.node.querySelector<HTMLElement>('button'))?.focus();
  }

  private readonly _appeared = new Signal<this, void>(this);

  /** The tab says when somebody is waited for. */
  private _label(): void {
    const { questions } = this.model.sessions;
    this.title.className = questions > 0 ? 'jp-Pernix-tab jp-mod-asks' : 'jp-Pernix-tab';
    this.title.caption = questions > 0 ? `Pernix: ${questions} waiting for you` : 'Pernix';
  }
}
