import { readdirSync, readFileSync } from 'fs';
import { join } from 'path';

const SOURCE = join(__dirname, '..');
/** What is imported for its types only is gone when the program runs. */
const IMPORT = /^(?:import|export)(?! type)[^;]*?from '([^']+)'/gm;

/** What a folder's files import from outside, and from which other folders of ours. */
function imports(folder: string): string[] {
  return readdirSync(join(SOURCE, folder), { recursive: true, encoding: 'utf-8' })
    .filter(name => /\.tsx?$/.test(name) && !name.includes('.spec.'))
    .flatMap(name => [...readFileSync(join(SOURCE, folder, name), 'utf-8').matchAll(IMPORT)])
    .map(match => match[1] ?? '');
}

it('components know React and our pure parts, and nothing of Jupyter', () => {
  const outside = imports('components').filter(name => !name.startsWith('.'));
  expect([...new Set(outside)]).toEqual(['react']);
  const inside = imports('components').filter(name => name.startsWith('../'));
  const pure = /^\.\.\/(api\/types\.gen|model\/(budget|mentions|reduce|trace)|notebook\/source)$/;
  expect(inside.filter(name => !pure.test(name))).toEqual([]);
});

it('the fold knows our types only', () => {
  expect(imports('model/fold').filter(name => !/^(\.\/\w+|\.\.\/\.\.\/api\/types\.gen)$/.test(name))).toEqual(
    []
  );
});
