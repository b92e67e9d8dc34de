import { callFrom } from './call';

it('a call in a notebook becomes a card', () => {
  const call = callFrom({
    call_id: 'c1',
    tool: 'edit_file',
    kind: 'edit',
    title: 'Edit a.py',
    arguments: { path: 'a.py' },
    status: 'failed',
    result: 'no',
    duration: 0.5,
    files: [{ path: 'a.py', before: 'x', after: null, added_lines: 0, removed_lines: 3, diff: '-a' }]
  });
  expect(call).toMatchObject({ tool: 'edit_file', kind: 'edit', status: 'failed', duration: 0.5 });
  expect(call.files).toEqual([
    { path: 'a.py', before: 'x', after: null, added_lines: 0, removed_lines: 3, diff: '-a' }
  ]);
});

it('what a call changed in a notebook, and the session that it was handed to, are kept', () => {
  const change = {
    change_id: 'g1',
    path: 'a.ipynb',
    op: 'delete',
    cell_id: 'abc',
    before: { cell_id: 'abc', cell_type: 'markdown', source: 'x' },
    after: null,
    behind: null,
    was_behind: ''
  };
  const call = callFrom({
    cells: [{ change, turn_id: 't1', status: 'undone', owner: 'page', detail: 'why' }],
    worker: { worker_id: 'ses_2', title: 'part', code: 'answered', answer: 'done' }
  });
  expect(call.cells).toEqual([{ change, turn_id: 't1', status: 'undone', owner: null, detail: 'why' }]);
  expect(call.worker).toMatchObject({ worker_id: 'ses_2', code: 'answered', answer: 'done' });
});

it.each([
  { cells: [null], worker: [] },
  { cells: [{ change: 7, status: {} }], worker: { worker_id: 'w', code: 'x' } }
])('what a notebook holds of them may be anything: %j', data => {
  const call = callFrom(data);
  expect(call.cells[0]?.change).toMatchObject({ op: 'edit', before: null, after: null });
  expect(call.worker?.code ?? null).toBeNull();
});

it.each([null, 3, 'x', [], { kind: {}, status: 7, title: ['a'], files: [null], arguments: [] }])(
  'a notebook may hold anything: %j',
  data => {
    expect(callFrom(data)).toMatchObject({
      tool: 'tool',
      kind: 'other',
      status: 'completed',
      title: '',
      arguments: {}
    });
  }
);
