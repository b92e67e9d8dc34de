/**
 * HTML that a model or its code wrote, made harmless. Pure DOM; works on an inert document, so nothing loads meanwhile.
 *
 * JupyterLab's sanitiser has taken scripts out by then. This takes out what it leaves: whatever loads from elsewhere by itself,
 * whatever can cover or imitate the interface. What is not listed here is not shown; its text is.
 */

const TAGS = new Set(
  (
    'a abbr b blockquote br caption code col colgroup dd del details div dl dt em figcaption figure h1 h2 h3 h4 h5 h6 hr i img ' +
    'input ins kbd li mark ol p pre q rp rt ruby s samp small span strong sub summary sup table tbody td tfoot th thead tr u ul var'
  ).split(' ')
);

/** Removed with everything in them. */
const DROPPED =
  'script, style, template, noscript, iframe, object, embed, svg, math, link, meta, base, title, textarea, select, frameset';

const ATTRIBUTES = new Set(
  'align alt checked colspan dir disabled height lang open rowspan scope start title type width'.split(' ')
);

const STYLES = [
  'background-color',
  'color',
  'font-style',
  'font-weight',
  'text-align',
  'text-decoration',
  'vertical-align'
];

const CLASSES = /^(ͼ\S*|ansi-[\w-]+|language-[\w+#.-]+|dataframe)$/;
const LINKS = /^(https?:|mailto:)/i;
const IMAGES = /^data:image\/(png|jpeg|gif|webp|bmp|svg\+xml)[;,]/i;
const RELATIVE = /^[^\s:/\\#?][^:\\]*$/;

/** Whether a link target is a path rather than an address. */
function isRelative(href: string): boolean {
  return RELATIVE.test(href);
}

/** The path that a link names relative to the space, '' when it leads elsewhere. */
export function linkedFile(href: string): string {
  if (!isRelative(href)) {
    return '';
  }
  const path = href.split('#')[0] ?? '';
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** The same HTML with nothing left that loads, runs, or leaves its place. */
export function guard(html: string): string {
  const body = new DOMParser().parseFromString(html, 'text/html').body;
  body.querySelectorAll(DROPPED).forEach(element => element.remove());
  [...body.querySelectorAll('*')].forEach(guardElement);
  return body.innerHTML;
}

function guardElement(element: Element): void {
  const tag = element.localName;
  if (!TAGS.has(tag)) {
    element.replaceWith(...element.childNodes);
    return;
  }
  if (tag === 'input' && element.getAttribute('type') !== 'checkbox') {
    element.remove();
    return;
  }
  if (tag === 'img' && !IMAGES.test(element.getAttribute('src') ?? '')) {
    element.replaceWith(blockedImage(element));
    return;
  }
  const style = element instanceof HTMLElement ? keptStyle(element) : '';
  [...element.attributes].forEach(({ name, value }) => {
    if (!keptAttribute(element, name, value)) {
      element.removeAttribute(name);
    }
  });
  if (style) {
    element.setAttribute('style', style);
  }
  if (tag === 'input') {
    element.setAttribute('disabled', '');
  }
  if (tag === 'img' && !element.hasAttribute('alt')) {
    element.setAttribute('alt', 'Picture without a description');
  }
}

function keptAttribute(element: Element, name: string, value: string): boolean {
  if (name === 'href') {
    return element.localName === 'a' && (LINKS.test(value.trim()) || isRelative(value.trim()));
  }
  if (name === 'src') {
    return element.localName === 'img';
  }
  if (name === 'class') {
    const kept = value.split(/\s+/).filter(token => CLASSES.test(token));
    element.setAttribute('class', kept.join(' '));
    return kept.length > 0;
  }
  return ATTRIBUTES.has(name);
}

function keptStyle(element: HTMLElement): string {
  return STYLES.map(name => [name, element.style.getPropertyValue(name)] as const)
    .filter(([, value]) => value !== '' && !/[(\\]/.test(value.replace(/\b(rgb|hsl)a?\(/g, '')))
    .map(([name, value]) => `${name}: ${value}`)
    .join('; ');
}

function blockedImage(image: Element): Element {
  const note = image.ownerDocument.createElement('span');
  const source = image.getAttribute('src') ?? '';
  const words = image.getAttribute('alt') || source.slice(0, 80);
  note.setAttribute('title', source.slice(0, 500));
  note.textContent = `[image not loaded: ${words}]`;
  return note;
}

/** Printed text is searched for links of any scheme; those that lead elsewhere than to the web become text again. */
export function keepWebLinks(host: Element): void {
  host.querySelectorAll('a').forEach(anchor => {
    if (!/^https?:/i.test(anchor.getAttribute('href') ?? '')) {
      anchor.replaceWith(...anchor.childNodes);
    }
  });
}

/** Diagrams are drawn by a library that could load images; they are shown as text. */
export function withoutDiagrams(markdown: string): string {
  return markdown.replace(/(`{3,}|~{3,})([^\S\n]*)mermaid(?=[^\S\n]*$)/gim, '$1$2text');
}
