/** Everything that goes on in open notebooks; loaded when the first one is opened. */
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import type { Contents } from '@jupyterlab/services';
import type { Transport } from '../api/transport';
import type { SessionsModel } from '../model/sessions';
import { Bridge } from './bridge';
import { Changes } from './changes';
import { NotebookClient } from './client';
import type { OpenDocument } from './document';
import { Documents } from './documents';
import { keepTold } from './keeptold';
import { Marks, type CellActions } from './marks';
import { Mirror } from './mirror';
import { Page } from './page';

export interface NotebookOptions {
  tracker: INotebookTracker;
  contents: Contents.IManager;
  sessions: SessionsModel;
  transport: Transport;
  actions: CellActions;
}

/** Returns the page's report of itself, to be told when what is visible may have changed. */
export function watchNotebooks(options: NotebookOptions): Page {
  const { tracker, contents, sessions, transport, actions } = options;
  const { client, stream } = sessions;
  const reader = new NotebookClient(transport);
  const documents = new Documents(tracker, contents);
  const runs = new Mirror(documents, reader, stream);
  const changes = new Changes(documents, client, stream);
  const page = new Page(documents, client, stream, reader);
  const bridge = new Bridge<OpenDocument>({
    pageId: page.pageId,
    find: path => documents.find(path),
    runs,
    answer: answer => client.answerPage(page.pageId, answer)
  });
  stream.page.connect((_, request) => void bridge.take(request));
  keepTold();
  const mark = (panel: NotebookPanel) => {
    const document = documents.of(panel);
    if (document !== null) {
      new Marks(panel, document, changes, actions);
    }
  };
  tracker.forEach(mark);
  tracker.widgetAdded.connect((_, panel) => mark(panel));
  return page;
}
