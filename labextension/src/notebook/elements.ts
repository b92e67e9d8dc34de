/** Small pieces of the page. */
import { pernixIcon } from '../icon';
import { excerpt, lineDiff, type DiffLine } from './source';

export interface ElementOptions {
  class?: string;
  text?: string;
  title?: string;
  role?: string;
  label?: string;
}

export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  options: ElementOptions = {},
  children: readonly Node[] = []
): HTMLElementTagNameMap[K] {
  const node = document.createElement(name);
  if (options.class !== undefined) {
    node.className = options.class;
  }
  if (options.text !== undefined) {
    node.textContent = options.text;
  }
  if (options.title !== undefined) {
    node.title = options.title;
  }
  if (options.role !== undefined) {
    node.setAttribute('role', options.role);
  }
  if (options.label !== undefined) {
    node.setAttribute('aria-label', options.label);
  }
  node.append(...children);
  return node;
}

/** A click of it neither selects the cell below nor leaves its editor. */
export function button(text: string, onClick: () => void, options: ElementOptions = {}): HTMLButtonElement {
  const node = element('button', { class: 'jp-Pernix-cellButton', ...options, text });
  node.type = 'button';
  node.addEventListener('mousedown', event => event.stopPropagation());
  node.addEventListener('click', event => {
    event.stopPropagation();
    onClick();
  });
  return node;
}

export function icon(): HTMLElement {
  return pernixIcon.element({ tag: 'span', className: 'jp-Pernix-cellIcon', width: '14px', height: '14px' });
}

/** What a change did to the text of a cell. */
export function diffElement(before: string, after: string): HTMLElement {
  const lines = excerpt(lineDiff(before, after)).map(line =>
    line === null
      ? element('span', { class: 'jp-Pernix-diffLine jp-mod-place', text: '⋯\n' })
      : lineElement(line)
  );
  const body = element('pre', { class: 'jp-Pernix-diffBody', label: 'Difference' }, lines);
  body.tabIndex = 0;
  return body;
}

function lineElement(line: DiffLine): HTMLElement {
  const sign = { same: '  ', added: '+ ', removed: '− ' }[line.tone];
  const [from, to] = line.marked ?? [0, 0];
  const words: Node[] = [new Text(sign + line.text.slice(0, from))];
  if (to > from) {
    words.push(element('mark', { text: line.text.slice(from, to) }));
  }
  words.push(new Text(`${line.text.slice(to)}\n`));
  return element('span', { class: `jp-Pernix-diffLine jp-mod-${line.tone}` }, words);
}
