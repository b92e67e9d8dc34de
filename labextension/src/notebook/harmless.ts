/**
 * Which outputs may be drawn as trusted although the agent wrote the code: those that look and do the same either way.
 *
 * JupyterLab trusts a whole cell or none of it, and an untrusted rich output takes the trust of the notebook with it when it is saved.
 * So a table or a picture should not count as dangerous, and a widget view, which is no text of the output, has to be trusted to be drawn.
 */
import type { JSONObject } from '../api/types.gen';

const PLAIN = new Set([
  'text/plain',
  'text/latex',
  'application/json',
  'application/vnd.jupyter.stdout',
  'application/vnd.jupyter.stderr',
  'application/vnd.jupyter.error',
  'application/vnd.jupyter.widget-view+json',
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/bmp',
  'image/webp'
]);

const TAGS = new Set(
  (
    'html head body div span p br hr table thead tbody tfoot tr th td caption colgroup col b i em strong u s small sub sup code pre ' +
    'kbd samp var ul ol li dl dt dd h1 h2 h3 h4 h5 h6 abbr blockquote style'
  ).split(' ')
);
const ATTRIBUTES = new Set(
  'class id style scope scoped border rowspan colspan align valign title dir lang width height halign'.split(
    ' '
  )
);
const LIVE_STYLE = /url\(|@|expression|behavior|position|\\|z-index|content\s*:/i;
/** What pandas and its styler call their tables. */
const OWN_RULES = /^\s*(\.dataframe\b|#T_)/;

function isHarmlessStyle(css: string): boolean {
  return (
    !LIVE_STYLE.test(css) &&
    css
      .replace(/\{[^{}]*\}/g, ',')
      .split(',')
      .every(selector => selector.trim() === '' || OWN_RULES.test(selector))
  );
}

/** Whether HTML holds only text and tables. */
export function isHarmlessHtml(html: string): boolean {
  const root = new DOMParser().parseFromString(html, 'text/html');
  return [...root.querySelectorAll('*')].every(
    element =>
      TAGS.has(element.localName) &&
      (element.localName !== 'style' || isHarmlessStyle(element.textContent ?? '')) &&
      [...element.attributes].every(
        ({ name, value }) => ATTRIBUTES.has(name) && (name !== 'style' || !LIVE_STYLE.test(value))
      )
  );
}

function text(value: unknown): string {
  return Array.isArray(value) ? value.join('') : typeof value === 'string' ? value : '';
}

/** `output` is an nbformat 4 output. */
export function isHarmless(output: JSONObject): boolean {
  if (output.output_type === 'stream' || output.output_type === 'error') {
    return true;
  }
  const { data } = output;
  return (
    typeof data === 'object' &&
    data !== null &&
    Object.entries(data).every(
      ([mime, value]) => PLAIN.has(mime) || (mime === 'text/html' && isHarmlessHtml(text(value)))
    )
  );
}
