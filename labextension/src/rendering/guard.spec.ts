import { guard, keepWebLinks, linkedFile, withoutDiagrams } from './guard';

it('images from elsewhere become words, embedded ones stay', () => {
  expect(guard('<img src="https://canary.invalid/x.png" alt="a chart">')).toBe(
    '<span title="https://canary.invalid/x.png">[image not loaded: a chart]</span>'
  );
  expect(guard('<img src="//canary.invalid/x">')).not.toContain('<img');
  expect(guard('<img src="files/plot.png">')).not.toContain('<img');
  const embedded = '<img src="data:image/png;base64,AAAA" alt="plot">';
  expect(guard(embedded)).toBe(embedded);
});

it.each([
  '<img src="data:image/png;base64,AA" srcset="https://canary.invalid/x 2x">',
  '<video src="https://canary.invalid/v" poster="https://canary.invalid/p"></video>',
  '<table background="https://canary.invalid/b"><tbody><tr><td>1</td></tr></tbody></table>',
  '<p style="background: url(https://canary.invalid/s)">x</p>',
  '<p style="background-color: ur\\6c(https://canary.invalid/s)">x</p>',
  '<link rel="stylesheet" href="https://canary.invalid/c">',
  '<svg><image href="https://canary.invalid/i"></image></svg>',
  '<input type="image" src="https://canary.invalid/i">',
  '<iframe src="https://canary.invalid/f"></iframe>',
  '<form action="https://canary.invalid/f"><button formaction="https://canary.invalid/f">go</button></form>'
])('nothing loads or posts by %s', html => {
  expect(guard(html)).not.toContain('canary');
});

it('links stay when they lead to a page or a file, and carry nothing else', () => {
  expect(guard('<a href="https://example.org/a" ping="https://canary.invalid" onclick="x()">a</a>')).toBe(
    '<a href="https://example.org/a">a</a>'
  );
  expect(guard('<a href="src/importer.py">f</a>')).toBe('<a href="src/importer.py">f</a>');
  expect(guard('<a href="javascript:alert(1)">j</a>')).toBe('<a>j</a>');
  expect(guard('<a href="/lab?reset">r</a>')).toBe('<a>r</a>');
  expect(['//host/x', 'https://e.org', '#top', '/abs'].map(linkedFile)).toEqual(['', '', '', '']);
  expect(linkedFile('src/a%20b.py#L3')).toBe('src/a b.py');
});

it('nothing can cover, name or imitate a part of the interface', () => {
  expect(
    guard(
      '<div id="jp-main" name="x" class="jp-Dialog ͼ1" style="position: fixed; inset: 0; color: red">t</div>'
    )
  ).toBe('<div class="ͼ1" style="color: red">t</div>');
  expect(guard('<dialog open>d</dialog><button popovertarget="x">b</button>')).toBe('db');
  expect(guard('<p data-commandlinker-command="docmanager:delete-file" contenteditable>p</p>')).toBe(
    '<p>p</p>'
  );
});

it('tables, code and terminal colours keep their looks', () => {
  const html =
    '<table class="dataframe"><tbody><tr style="text-align: right"><td colspan="2">1</td></tr></tbody></table>' +
    '<pre><code class="language-python"><span class="ͼ2e">import</span></code></pre><span class="ansi-red-fg">e</span>';
  expect(guard(html)).toBe(html);
});

it('diagrams are text', () => {
  expect(withoutDiagrams('a\n```mermaid\ngraph\n```\n~~~ Mermaid \nb\n~~~')).toBe(
    'a\n```text\ngraph\n```\n~~~ text \nb\n~~~'
  );
  expect(withoutDiagrams('```mermaidx')).toBe('```mermaidx');
});

it('printed addresses of the web are links, others are text', () => {
  const host = document.createElement('pre');
  host.innerHTML =
    'see <a href="https://a.b">https://a.b</a>, <a href="data:text/html,x">data:text/html,x</a>, ' +
    '<a href="ms-settings://x">ms-settings://x</a>, <a data-path="/etc">/etc</a>';
  keepWebLinks(host);
  expect(host.querySelectorAll('a')).toHaveLength(1);
  expect(host.textContent).toBe('see https://a.b, data:text/html,x, ms-settings://x, /etc');
});
