import { RequestFailed } from '../api/transport';
import type { CellChange, CellSnapshot, PageAnswer, PageRequest } from '../api/types.gen';
import { Bridge, type BridgeNotebook } from './bridge';

const cell = (source: string): CellSnapshot => ({ cell_id: 'c1', cell_type: 'code', source });

const edit = (before: string, after: string): CellChange => ({
  change_id: 'chg_1',
  path: 'a.ipynb',
  op: 'edit',
  cell_id: 'c1',
  before: cell(before),
  after: cell(after)
});

/** A notebook of one cell. */
class FakeNotebook implements BridgeNotebook {
  source = 'x = 1';
  dirty = false;
  saved: string[] = [];
  settle = () => Promise.resolve();
  save = () => {
    this.saved.push(this.source);
    this.dirty = false;
    return Promise.resolve();
  };
  cells = () => [cell(this.source)];

  change(change: CellChange): CellChange {
    if (change.before?.source !== this.source) {
      throw new Error('The cell c1 was changed since it was read.');
    }
    this.source = change.after?.source ?? '';
    this.dirty = true;
    return { ...change, before: change.after ?? null, after: change.before ?? null };
  }
}

function request(fields: Partial<PageRequest>): PageRequest {
  return {
    type: 'page.requested',
    session_id: 'ses_1',
    page_id: 'page_1',
    request_id: 'req_1',
    op: 'read',
    path: 'a.ipynb',
    seconds: 5,
    change: null,
    cell_id: '',
    source: '',
    execution_id: null,
    outputs: [],
    execution_count: null,
    trusted: false,
    ...fields
  };
}

function setUp(answer: (answer: PageAnswer) => Promise<void> = () => Promise.resolve()) {
  const notebook = new FakeNotebook();
  const answers: PageAnswer[] = [];
  let now = 0;
  const bridge = new Bridge<FakeNotebook>({
    pageId: 'page_1',
    find: path => (path === 'a.ipynb' ? notebook : null),
    runs: { begin: () => () => undefined, put: () => undefined },
    answer: async given => {
      answers.push({ ...given });
      await answer(given);
    },
    now: () => now,
    pause: async milliseconds => void (now += milliseconds)
  });
  return { notebook, answers, bridge, pass: (seconds: number) => (now += 1000 * seconds) };
}

const gone = () => Promise.reject(new RequestFailed(409, 'The server waits no longer.'));

test('a clean notebook is changed, saved, and said to be clean', async () => {
  const { bridge, notebook, answers } = setUp();
  await bridge.take(request({ op: 'change', change: edit('x = 1', 'x = 2') }));
  expect(answers).toEqual([{ request_id: 'req_1', dirty: false }]);
  expect(notebook.saved).toEqual(['x = 2']);
});

test('a notebook with edits of the user is changed and left unsaved', async () => {
  const { bridge, notebook, answers } = setUp();
  notebook.dirty = true;
  await bridge.take(request({ op: 'change', change: edit('x = 1', 'x = 2') }));
  expect(answers).toEqual([{ request_id: 'req_1', dirty: true }]);
  expect(notebook.saved).toEqual([]);
});

test('a cell that the user has changed since is left alone', async () => {
  const { bridge, notebook, answers } = setUp();
  notebook.source = 'x = 7';
  await bridge.take(request({ op: 'change', change: edit('x = 1', 'x = 2') }));
  expect(notebook.source).toBe('x = 7');
  expect(answers).toEqual([{ request_id: 'req_1', refused: 'The cell c1 was changed since it was read.' }]);
});

test('a change that the server has not counted on is taken back', async () => {
  const { bridge, notebook } = setUp(gone);
  await bridge.take(request({ op: 'change', change: edit('x = 1', 'x = 2') }));
  expect(notebook.source).toBe('x = 1');
  expect(notebook.saved).toEqual(['x = 2', 'x = 1']);
});

test('what the user typed meanwhile is not taken back', async () => {
  const { bridge, notebook } = setUp(() => {
    notebook.source = 'x = 2  # mine';
    return gone();
  });
  const error = jest.spyOn(console, 'warn').mockImplementation();
  await bridge.take(request({ op: 'change', change: edit('x = 1', 'x = 2') }));
  expect(notebook.source).toBe('x = 2  # mine');
  expect(error).toHaveBeenCalled();
  error.mockRestore();
});

test('an answer that is lost on its way is sent again, and the change is made once', async () => {
  let tries = 0;
  const { bridge, notebook, answers } = setUp(() =>
    ++tries < 3 ? Promise.reject(new RequestFailed(0, 'no answer')) : Promise.resolve()
  );
  await bridge.take(request({ op: 'change', change: edit('x = 1', 'x = 2') }));
  expect([notebook.source, answers.length]).toEqual(['x = 2', 3]);
});

test('an answer that never arrives takes the change back', async () => {
  const { bridge, notebook } = setUp(() => Promise.reject(new RequestFailed(0, 'no answer')));
  await bridge.take(request({ op: 'change', change: edit('x = 1', 'x = 2') }));
  expect(notebook.source).toBe('x = 1');
});

test('a request is carried out once, and only by the page that it names', async () => {
  const { bridge, answers } = setUp();
  await bridge.take(request({}));
  await bridge.take(request({}));
  await bridge.take(request({ page_id: 'page_2', request_id: 'req_2' }));
  expect(answers).toHaveLength(1);
});

test('nothing is changed after its time', async () => {
  const { bridge, notebook, answers, pass } = setUp();
  notebook.settle = async () => void pass(6);
  await bridge.take(request({ op: 'change', change: edit('x = 1', 'x = 2') }));
  expect(notebook.source).toBe('x = 1');
  expect(answers[0]?.refused).toBe('The page could not do it in time.');
});

test('a notebook that was closed is refused by its path', async () => {
  const { bridge, answers } = setUp();
  await bridge.take(request({ path: 'gone.ipynb' }));
  expect(answers[0]?.refused).toContain('gone.ipynb');
});

test('requests to one notebook are carried out one after the other', async () => {
  const { bridge, notebook } = setUp();
  const one = bridge.take(request({ op: 'change', change: edit('x = 1', 'x = 2') }));
  const two = bridge.take(request({ op: 'change', request_id: 'req_2', change: edit('x = 2', 'x = 3') }));
  await Promise.all([one, two]);
  expect(notebook.source).toBe('x = 3');
});

test('a file that cannot be written leaves the change in the page, unsaved', async () => {
  const warn = jest.spyOn(console, 'warn').mockImplementation();
  const { bridge, notebook, answers } = setUp();
  notebook.save = () => Promise.reject(new Error('disk full'));
  await bridge.take(request({ op: 'change', change: edit('x = 1', 'x = 2') }));
  expect(answers).toEqual([{ request_id: 'req_1', dirty: true }]);
  await bridge.take(request({ op: 'save', request_id: 'req_2' }));
  expect(answers[1]?.refused).toBe('disk full');
  warn.mockRestore();
});

test('outputs that are shown already are written to the file', async () => {
  const { bridge, notebook, answers } = setUp();
  await bridge.take(request({ op: 'outputs', cell_id: 'c1' }));
  expect([notebook.saved, answers]).toEqual([['x = 1'], [{ request_id: 'req_1', dirty: false }]]);
});

test('a cell that begins to run leaves the file alone', async () => {
  const { bridge, notebook } = setUp();
  await bridge.take(request({ op: 'run', cell_id: 'c1' }));
  expect(notebook.saved).toEqual([]);
});
