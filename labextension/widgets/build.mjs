/** Builds the widgets' modules and their style sheet into `jupyter_pernix/kernel/widgets/static`: the panel's components on preact. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rspack } from '@rspack/core';

const here = dirname(fileURLToPath(import.meta.url));
const output = join(here, '../../jupyter_pernix/kernel/widgets/static');
const NAMES = ['tool_calls', 'trace', 'budget', 'vram'];
const SHEETS = ['panel', 'transcript', 'calls', 'composer', 'widgets'];

const compiler = rspack({
  mode: 'production',
  target: ['web', 'es2022'],
  context: here,
  devtool: false,
  entry: Object.fromEntries(NAMES.map(name => [name, `./src/${name}.ts`])),
  output: {
    path: output,
    filename: '[name].js',
    module: true,
    library: { type: 'module' },
    chunkFormat: 'module'
  },
  experiments: { outputModule: true },
  optimization: { splitChunks: false, runtimeChunk: false, concatenateModules: true },
  performance: false,
  resolve: {
    extensions: ['.ts', '.tsx', '.js'],
    alias: {
      react$: 'preact/compat',
      'react-dom/client$': 'preact/compat/client',
      'react-dom$': 'preact/compat',
      'react/jsx-runtime$': 'preact/jsx-runtime'
    }
  },
  module: {
    rules: [
      {
        test: /\.tsx?$/,
        loader: 'builtin:swc-loader',
        options: {
          jsc: {
            parser: { syntax: 'typescript', tsx: true },
            transform: { react: { runtime: 'classic' } },
            target: 'es2022'
          }
        },
        type: 'javascript/auto'
      }
    ]
  }
});

function sheet() {
  const text = SHEETS.map(name => readFileSync(join(here, `../style/${name}.css`), 'utf8')).join('\n');
  return text
    .replace(/\/\*.*?\*\//gs, '')
    .replace(/\s+/g, ' ')
    .replace(/ ?([{};,]) ?/g, '$1')
    .trim();
}

rmSync(output, { recursive: true, force: true });
mkdirSync(output, { recursive: true });
compiler.run((error, stats) => {
  const failed = error ?? (stats?.hasErrors() ? stats.toString({ all: false, errors: true }) : null);
  if (failed) {
    console.error(failed);
    process.exit(1);
  }
  writeFileSync(join(output, 'widgets.css'), sheet());
  compiler.close(() => undefined);
});
