import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { commands } from './plugins/commands';
import { mime } from './plugins/mime';
import { notebook } from './plugins/notebook';
import { renderers } from './plugins/renderers';
import { sessions } from './plugins/sessions';
import { widgets } from './plugins/widgets';
import { workspace } from './plugins/workspace';

export * from './tokens';

const plugins: JupyterFrontEndPlugin<unknown>[] = [
  sessions,
  renderers,
  workspace,
  commands,
  mime,
  notebook,
  widgets
];

export default plugins;
