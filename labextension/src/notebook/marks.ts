/** Shows in a notebook what the agent changed, and what failed: in the strips above and below each cell, never over its code. */
import { Notification } from '@jupyterlab/apputils';
import type { Cell } from '@jupyterlab/cells';
import type { NotebookPanel } from '@jupyterlab/notebook';
import { Widget } from '@lumino/widgets';
import { asTrouble } from '../api/transport';
import type { ChangeDecision } from '../api/types.gen';
import type { Changes } from './changes';
import type { OpenDocument } from './document';
import { button, diffElement, element, icon } from './elements';
import { hasFailed } from './failed';
import type { ChangeGroup } from './groups';

export interface CellActions {
  fix(panel: NotebookPanel, cellId: string): void;
  explain(panel: NotebookPanel, cellId: string): void;
  /** Which cells have failed is not what it was. */
  noticed(): void;
}

const UNDO = 'Put back the cell as it was, with its outputs. What ran in the kernel stays done.';
const NOT_SAVED =
  'The notebook had changes of yours; what is not saved is gone when the page is reloaded or closed.';
/** Milliseconds between two looks at the cells. */
const OFTEN = 100;
const WORDS = {
  inserted: 'New cell by Pernix',
  edited: 'Changed by Pernix',
  moved: 'Moved by Pernix',
  deleted: 'Cell deleted by Pernix'
};

/** The marks of one view of a notebook. */
export class Marks {
  constructor(
    private readonly _panel: NotebookPanel,
    private readonly _document: OpenDocument,
    private readonly _changes: Changes,
    private readonly _actions: CellActions
  ) {
    _changes.changed.connect(this._onChanged, this);
    _panel.content.modelContentChanged.connect(this._soon, this);
    _panel.disposed.connect(() => this._changes.changed.disconnect(this._onChanged, this));
    this._all = new Widget();
    this._all.addClass('jp-Pernix-allChanges');
    void _panel.context.ready.then(() => this._soon());
  }

  private _onChanged(_: Changes, document: OpenDocument): void {
    if (document === this._document) {
      this._soon();
    }
  }

  /** Once for all that changes within a while. */
  private _soon(): void {
    if (!this._drawing) {
      this._drawing = true;
      setTimeout(() => {
        this._drawing = false;
        if (!this._panel.isDisposed) {
          this._draw();
        }
      }, OFTEN);
    }
  }

  private _draw(): void {
    const groups = this._changes.groups(this._document);
    const waiting = new Set(groups.map(group => group.cellId));
    const kept = this._changes.keptUnsaved(this._document).filter(group => !waiting.has(group.cellId));
    const marked = [...groups, ...kept];
    const byCell = new Map(
      marked.filter(group => group.kind !== 'deleted').map(group => [group.cellId, group])
    );
    const mark = (group: ChangeGroup) => (kept.includes(group) ? keptMark(group) : this._mark(group));
    const cells = this._panel.content.widgets;
    const ids = new Set(cells.map(cell => cell.model.id));
    const last = cells[cells.length - 1]?.model.id;
    const deleted = marked.filter(group => group.kind === 'deleted' && !ids.has(group.cellId));
    const place = (group: ChangeGroup) =>
      group.wasBehind === '' ? cells[0]?.model.id : ids.has(group.wasBehind) ? group.wasBehind : last;
    cells.forEach((cell, index) => {
      const { id } = cell.model;
      const group = byCell.get(id);
      const gone = deleted.filter(other => place(other) === id);
      const above = index === 0 ? gone.filter(other => other.wasBehind === '') : [];
      const below = gone.filter(other => !above.includes(other));
      this._fill(cell, 'header', [...above.map(mark), ...(group ? [mark(group)] : [])]);
      this._fill(cell, 'footer', [...this._errorBar(cell), ...below.map(mark)]);
      cell.toggleClass('jp-mod-pernixChanged', group !== undefined);
    });
    this._count(groups);
    const failed = cells.flatMap(cell => (hasFailed(cell.model) ? [cell.model.id] : [])).join(' ');
    if (failed !== this._failed) {
      this._failed = failed;
      this._actions.noticed();
    }
  }

  /** A strip of a cell; one that is not drawn yet is filled when it is. */
  private _fill(cell: Cell, strip: 'header' | 'footer', pieces: Piece[]): void {
    const key = pieces.map(piece => piece.key).join(' ');
    const node = stripOf(cell, strip);
    if (node === null) {
      if (key !== '') {
        void cell.ready.then(() => this._soon());
      }
      return;
    }
    if ((node.dataset.pernix ?? '') !== key) {
      node.dataset.pernix = key;
      node.replaceChildren(...pieces.map(piece => piece.make()));
    }
  }

  private _mark(group: ChangeGroup): Piece {
    return {
      key: `${group.kind}:${group.changeIds.join('+')}`,
      make: () => this._markElement(group)
    };
  }

  private _markElement(group: ChangeGroup): HTMLElement {
    const trouble = element('span', { class: 'jp-Pernix-cellTrouble', role: 'alert' });
    const diff = element('div', { class: 'jp-Pernix-cellDiff' });
    diff.hidden = true;
    const differs = group.kind === 'deleted' || (group.kind === 'edited' && group.before !== group.after);
    const [closed, open] = group.kind === 'deleted' ? ['Show it', 'Hide it'] : ['Show diff', 'Hide diff'];
    const show = button(closed, () => {
      diff.hidden = !diff.hidden;
      show.setAttribute('aria-expanded', String(!diff.hidden));
      show.textContent = diff.hidden ? closed : open;
      if (!diff.hidden && diff.childElementCount === 0) {
        diff.append(diffElement(group.before, group.kind === 'deleted' ? '' : group.after));
      }
    });
    show.setAttribute('aria-expanded', 'false');
    const decide = (decision: ChangeDecision) => () =>
      void this._decide(group.changeIds, decision, trouble, [keep, undo]);
    const keep = button('Keep', decide('keep'), { title: 'Leave it as it is and take this mark away' });
    const undo = button('Undo', decide('undo'), { title: UNDO });
    const head = element('div', { class: 'jp-Pernix-cellHead' }, [
      icon(),
      element('span', { class: 'jp-Pernix-cellWords', text: WORDS[group.kind] }),
      ...(differs ? [show] : []),
      keep,
      undo,
      trouble
    ]);
    return element(
      'div',
      { class: `jp-Pernix-cellMark jp-mod-${group.kind}`, role: 'group', label: WORDS[group.kind] },
      [head, diff]
    );
  }

  private async _decide(
    changeIds: readonly string[],
    decision: ChangeDecision,
    trouble: HTMLElement | null,
    buttons: readonly HTMLButtonElement[]
  ): Promise<void> {
    buttons.forEach(node => (node.disabled = true));
    try {
      const details = await this._changes.decide(changeIds, decision);
      if (details.length > 0) {
        Notification.info(details.join('\n'), { autoClose: 6000 });
      }
    } catch (error) {
      const { message, hint } = asTrouble(error);
      const words = hint === '' ? message : `${message} ${hint}`;
      if (trouble?.isConnected) {
        trouble.textContent = words;
      } else {
        Notification.warning(words, { autoClose: 8000 });
      }
    } finally {
      buttons.forEach(node => (node.disabled = false));
    }
  }

  private _errorBar(cell: Cell): Piece[] {
    const { model } = cell;
    if (!hasFailed(model)) {
      return [];
    }
    const { id } = model;
    const make = () =>
      element('div', { class: 'jp-Pernix-cellHead jp-mod-error', role: 'group', label: 'The cell failed' }, [
        icon(),
        button('Fix this error', () => this._actions.fix(this._panel, id)),
        button('Explain', () => this._actions.explain(this._panel, id))
      ]);
    return [{ key: 'failed', make }];
  }

  /** "Keep all" and "Undo all" in the notebook's toolbar, while there is something to decide. */
  private _count(groups: readonly ChangeGroup[]): void {
    const changeIds = groups.flatMap(group => group.changeIds);
    const key = changeIds.join('+');
    if ((this._all.node.dataset.pernix ?? '') === key) {
      return;
    }
    this._all.node.dataset.pernix = key;
    if (changeIds.length === 0) {
      this._all.node.replaceChildren();
      this._all.parent = null;
      return;
    }
    const number = groups.length;
    const decide = (decision: ChangeDecision) => () =>
      void this._decide(changeIds, decision, null, [keep, undo]);
    const keep = button('Keep all', decide('keep'), { title: 'Leave all cells as they are' });
    const undo = button(`Undo all (${number})`, decide('undo'), {
      title: UNDO.replace('the cell as it was, with its', 'all cells as they were, with their')
    });
    this._all.node.replaceChildren(keep, undo);
    if (this._all.parent === null) {
      const { toolbar } = this._panel;
      if (!toolbar.insertBefore('kernelName', ALL, this._all)) {
        toolbar.addItem(ALL, this._all);
      }
    }
  }

  private readonly _all: Widget;
  private _drawing = false;
  private _failed = '';
}

const ALL = 'pernix-changes';
interface Piece {
  /** The same piece has the same key. */
  key: string;
  make(): HTMLElement;
}

/** Nothing is to be decided any more; it only says what would be lost. */
function keptMark({ kind, changeIds }: ChangeGroup): Piece {
  const words = `${WORDS[kind]} · kept, not saved yet`;
  const make = () =>
    element('div', { class: `jp-Pernix-cellMark jp-mod-${kind} jp-mod-kept`, role: 'group', label: words }, [
      element('div', { class: 'jp-Pernix-cellHead' }, [
        icon(),
        element('span', { class: 'jp-Pernix-cellWords', text: words, title: NOT_SAVED })
      ])
    ]);
  return { key: `kept:${changeIds.join('+')}`, make };
}

function stripOf(cell: Cell, strip: 'header' | 'footer'): HTMLElement | null {
  for (const widget of cell.layout ?? []) {
    if (widget.hasClass(`jp-Cell-${strip}`)) {
      return widget.node;
    }
  }
  return null;
}
