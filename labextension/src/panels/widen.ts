import { SplitPanel, type Widget } from '@lumino/widgets';
import { withShare } from './shares';

/**
 * Give the side area that shows `widget` this width in pixels, at most two fifths of the window.
 *
 * An area that is wider than the least that `widget` takes was sized by somebody, and stays.
 */
export function widen(widget: Widget, width: number): void {
  let area = widget;
  let row = widget.parent;
  while (row !== null && !(row instanceof SplitPanel && row.orientation === 'horizontal')) {
    area = row;
    row = row.parent;
  }
  if (row === null) {
    return;
  }
  const least = parseFloat(getComputedStyle(widget.node).minWidth) || 0;
  const whole = row.node.clientWidth;
  const now = widget.node.clientWidth;
  if (now > least + 2 || whole === 0) {
    return;
  }
  const share = Math.min(width / whole, 0.4);
  if (share * whole > now) {
    row.setRelativeSizes(withShare(row.relativeSizes(), row.widgets.indexOf(area), share));
  }
}
