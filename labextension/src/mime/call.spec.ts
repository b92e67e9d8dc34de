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
