import { isHarmless, isHarmlessHtml } from './harmless';

const PANDAS =
  '<div>\n<style scoped>\n    .dataframe tbody tr th:only-of-type {\n        vertical-align: middle;\n    }\n\n    .dataframe thead th {\n' +
  '        text-align: right;\n    }\n</style>\n<table border="1" class="dataframe">\n  <thead>\n    <tr style="text-align: right;">\n      <th></th>' +
  '\n      <th>a</th>\n    </tr>\n  </thead>\n  <tbody>\n    <tr>\n      <th>0</th>\n      <td>1</td>\n    </tr>\n  </tbody>\n</table>\n</div>';

test('a data frame is harmless', () => {
  expect(isHarmlessHtml(PANDAS)).toBe(true);
});

test.each([
  '<script>1</script>',
  '<b onclick="x()">a</b>',
  '<img src="https://canary.invalid/x.png">',
  '<a href="javascript:x()">a</a>',
  '<div style="background:url(https://canary.invalid)">a</div>',
  '<div style="position:fixed;inset:0">a</div>',
  '<style>.jp-Toolbar {display: none}</style>',
  '<style>.dataframe {color: red} body {display: none}</style>',
  '<style>.dataframe, body {display: none}</style>',
  '<style>@import "https://canary.invalid/x.css";</style>',
  '<iframe srcdoc="a"></iframe>',
  '<svg onload="x()"></svg>'
])('%s is not', html => {
  expect(isHarmlessHtml(html)).toBe(false);
});

test('a bundle is as harmless as the worst in it', () => {
  const output = (data: Record<string, unknown>) => ({ output_type: 'display_data', data, metadata: {} });
  expect(isHarmless(output({ 'text/plain': 'a', 'image/png': 'AA==' }))).toBe(true);
  expect(
    isHarmless(output({ 'text/plain': 'a', 'application/vnd.jupyter.widget-view+json': { model_id: 'x' } }))
  ).toBe(true);
  expect(isHarmless(output({ 'text/plain': 'a', 'application/javascript': 'x()' }))).toBe(false);
  expect(isHarmless(output({ 'text/plain': 'a', 'text/markdown': 'a' }))).toBe(false);
  expect(isHarmless({ output_type: 'stream', name: 'stdout', text: 'a' })).toBe(true);
});
