/** @jest-environment node */
import type { AnyStored } from '../model/reduce';
import { EventStream } from './stream';
import type { Transport } from './transport';

/** A server whose connections are written by hand. */
class FakeServer implements Transport {
  readonly asked: string[] = [];
  private _waiting: (() => void)[] = [];
  private _open: ReadableStreamDefaultController<Uint8Array>[] = [];

  request(path: string, init: RequestInit): Promise<Response> {
    this.asked.push(`${path} ${new Headers(init.headers).get('Last-Event-ID')}`);
    const body = new ReadableStream<Uint8Array>({
      start: controller => {
        this._open.push(controller);
        init.signal?.addEventListener('abort', () => {
          try {
            controller.error(new Error('aborted'));
          } catch {
            // It was closed before.
          }
        });
      }
    });
    this._waiting.splice(0).forEach(resolve => resolve());
    return Promise.resolve(new Response(body));
  }

  async connection(index: number): Promise<ReadableStreamDefaultController<Uint8Array>> {
    for (;;) {
      const found = this._open[index];
      if (found !== undefined) {
        return found;
      }
      await new Promise<void>(resolve => this._waiting.push(resolve));
    }
  }
}

function wire(event: string, body: object): Uint8Array {
  return new TextEncoder().encode(`event: ${event}\ndata: ${JSON.stringify(body)}\n\n`);
}

function stored(seq: number): Uint8Array {
  return wire('pernix', { seq, recorded_at: '', type: 'x.y', session_id: 's' });
}

function collect(stream: EventStream, count: number): Promise<number[]> {
  return new Promise(resolve => {
    const seen: number[] = [];
    stream.stored.connect((_, event: AnyStored) => {
      seen.push(event.seq);
      if (seen.length === count) {
        resolve(seen);
      }
    });
  });
}

let stream: EventStream;
let server: FakeServer;

beforeEach(() => {
  jest.spyOn(console, 'warn').mockImplementation(() => undefined);
  server = new FakeServer();
  stream = new EventStream({ transport: server, waits: [0] });
});

afterEach(() => {
  stream.dispose();
  jest.restoreAllMocks();
});

it('resumes after the last event that it gave out', async () => {
  const states: string[] = [];
  stream.connectionChanged.connect((_, connection) => states.push(connection.status));
  const seen = collect(stream, 3);
  stream.start(4);
  const first = await server.connection(0);
  first.enqueue(stored(5));
  first.enqueue(stored(9));
  first.close();
  const second = await server.connection(1);
  second.enqueue(stored(10));
  expect(await seen).toEqual([5, 9, 10]);
  expect(server.asked).toEqual(['stream?after=4 4', 'stream?after=9 9']);
  expect(states).toEqual(['open', 'lost', 'open']);
});

it('a connection that breaks in the middle of a message loses only that message', async () => {
  const one = collect(stream, 1);
  const seen = collect(stream, 2);
  stream.start(0);
  const first = await server.connection(0);
  first.enqueue(stored(1));
  first.enqueue(stored(2).slice(0, 20));
  await one;
  first.error(new Error('reset'));
  (await server.connection(1)).enqueue(stored(2));
  expect(await seen).toEqual([1, 2]);
});

it('a silent connection is given up', async () => {
  stream.dispose();
  stream = new EventStream({ transport: server, waits: [0], silence: 20 });
  stream.start(0);
  await server.connection(0);
  await server.connection(1);
  expect(server.asked.length).toBeGreaterThanOrEqual(2);
});

it('a shorter log is another store', async () => {
  const reset = new Promise<void>(resolve => stream.reset.connect(() => resolve()));
  stream.start(100);
  (await server.connection(0)).enqueue(wire('hello', { last_seq: 3 }));
  await reset;
});

it('deltas are passed on', async () => {
  const delta = new Promise(resolve => stream.delta.connect((_, value) => resolve(value)));
  const body = { type: 'message.delta', session_id: 's', turn_id: 't', step_id: 'p', offset: 0, text: 'hi' };
  stream.start(0);
  (await server.connection(0)).enqueue(wire('delta', body));
  expect(await delta).toEqual(body);
});

it('what the server asks a page to do is no event of a session', async () => {
  const stored: unknown[] = [];
  stream.stored.connect((_, event) => stored.push(event));
  const asked = new Promise(resolve => stream.page.connect((_, value) => resolve(value)));
  const body = { type: 'page.requested', session_id: 's', page_id: 'p', request_id: 'r', op: 'read' };
  stream.start(0);
  (await server.connection(0)).enqueue(wire('page', body));
  expect(await asked).toEqual(body);
  expect(stored).toEqual([]);
});
