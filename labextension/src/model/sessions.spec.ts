/** @jest-environment node */
import { Client } from '../api/client';
import { EventStream } from '../api/stream';
import type { Transport } from '../api/transport';
import type { Event, SessionSummary, Stored } from '../api/types.gen';
import { emptyView, type AnyStored } from './reduce';
import { SessionsModel } from './sessions';
import { summarizeAll } from './summary';

const SUMMARY: SessionSummary = {
  session_id: 's1',
  title: 'One',
  state: 'idle_ready',
  mode: 'edit',
  endpoint: null,
  kernel_name: '',
  space_root: '',
  record_path: '',
  archived: false,
  created_at: '2026-01-01T00:00:00Z',
  updated_at: '2026-01-01T00:00:00Z',
  last_seq: 10,
  open_approvals: 0,
  turns: 0,
  parent: null,
  notebook: ''
};

function event(seq: number, body: Event): Stored {
  return { seq, recorded_at: '2026-01-02T00:00:00Z', ...body } as Stored;
}

/** Answers requests by a table, and streams what is emitted by hand. */
class FakeServer implements Transport {
  answers: Record<string, () => Promise<Response> | Response> = {
    'GET ': () => Response.json({ version: '1', last_seq: 10 }),
    'GET sessions?archived=all&workers=true': () => Response.json([SUMMARY]),
    'GET sessions/s1': () => Response.json({ ...emptyView('s1'), title: 'One', last_seq: 10 })
  };
  readonly sent: string[] = [];
  stream: ReadableStreamDefaultController<Uint8Array> | null = null;

  async request(path: string, init: RequestInit): Promise<Response> {
    if (path.startsWith('stream')) {
      return new Response(new ReadableStream({ start: controller => void (this.stream = controller) }));
    }
    this.sent.push(`${init.method} ${path} ${init.body ?? ''}`.trim());
    const answer = this.answers[`${init.method} ${path}`];
    return answer === undefined
      ? Response.json({ message: 'no such thing', hint: 'look' }, { status: 404 })
      : answer();
  }

  emit(...events: AnyStored[]): void {
    const lines = events.map(body => `id: ${body.seq}\nevent: pernix\ndata: ${JSON.stringify(body)}\n\n`);
    this.stream?.enqueue(new TextEncoder().encode(lines.join('')));
  }
}

let server: FakeServer;
let model: SessionsModel;

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) {
    await new Promise(resolve => setTimeout(resolve, 1));
  }
}

beforeEach(async () => {
  server = new FakeServer();
  model = new SessionsModel(new Client(server), new EventStream({ transport: server }));
  await until(() => server.stream !== null);
});

afterEach(() => model.dispose());

it('events that come while a session is read are folded after it, once', async () => {
  let answer: (response: Response) => void = () => undefined;
  server.answers['GET sessions/s1'] = () => new Promise(resolve => (answer = resolve));
  const session = model.session('s1');
  server.emit(
    event(12, { type: 'session.renamed', session_id: 's1', title: 'Two', record_path: '', by: 'user' }),
    event(15, {
      type: 'turn.submitted',
      session_id: 's1',
      turn_id: 't1',
      text: 'go',
      origin: 'panel',
      can_ask: true,
      budget: null,
      mentions: []
    })
  );
  await until(() => model.summary('s1')?.last_seq === 15);
  answer(Response.json({ ...emptyView('s1'), title: 'Two', last_seq: 12 }));
  await until(() => session.loaded);
  expect(session.view).toMatchObject({ title: 'Two', last_seq: 15, turns: [{ turn_id: 't1' }] });
  expect(session.queued.map(turn => turn.text)).toEqual(['go']);
});

it('a message that cannot be sent is not swallowed: the reason is there and the answer is no', async () => {
  const session = model.session('s1');
  await until(() => session.loaded);
  expect(await session.send('hello')).toBe(false);
  expect(session.trouble).toEqual({ message: 'no such thing', hint: 'look', offline: false });
  server.answers['POST sessions/s1/turns'] = () => Response.json({ turn_id: 't', seq: 1 }, { status: 202 });
  expect(await session.send('hello')).toBe(true);
  expect(session.trouble).toBeNull();
});

it('a server that does not answer is said so in words', async () => {
  server.answers['POST sessions'] = () => Promise.reject(new TypeError('Failed to fetch'));
  expect(await model.create({})).toBeNull();
  expect(model.trouble).toMatchObject({ message: 'The Jupyter server does not answer.', offline: true });
});

it('a session that another face made appears, and the one with news comes first', async () => {
  const made = event(20, {
    type: 'session.created',
    session_id: 's2',
    title: 'Two',
    space_root: '',
    record_path: '',
    mode: 'auto',
    endpoint: null,
    kernel_name: '',
    place: 'own',
    origin: 'cli',
    budget: null,
    parent: null
  });
  server.emit(made);
  await until(() => model.list.length === 2);
  expect(model.list.map(entry => entry.session_id)).toEqual(['s2', 's1']);
  server.emit(
    event(21, { type: 'session.renamed', session_id: 's1', title: 'News', record_path: '', by: 'user' })
  );
  await until(() => model.list[0]?.title === 'News');
});

it('questions are counted until they are answered', () => {
  const asked = event(11, {
    type: 'approval.requested',
    session_id: 's1',
    turn_id: 't',
    call_id: 'c',
    approval_id: 'a',
    question: '?',
    detail: '',
    choices: ['allow_once']
  });
  const once = summarizeAll([SUMMARY], asked);
  expect(once[0]?.open_approvals).toBe(1);
  expect(summarizeAll(once, asked)).toBe(once);
});

it('may be disposed twice', () => {
  model.dispose();
  model.dispose();
  expect(model.isDisposed).toBe(true);
});
