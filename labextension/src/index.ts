import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { commands } from './plugins/commands';
import { mime } from './plugins/mime';
import { renderers } from './plugins/renderers';
import { sessions } from './plugins/sessions';
import { workspace } from './plugins/workspace';

export * from './tokens';

const plugins: JupyterFrontEndPlugin<unknown>[] = [sessions, renderers, workspace, commands, mime];

export default plugins;
