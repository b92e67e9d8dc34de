/** @jest-environment node */
import { Client } from '../api/client';
import type { Transport } from '../api/transport';
import type { EndpointInfo, LocalModel } from '../api/types.gen';
import { EndpointsModel } from './endpoints';

function endpoint(name: string, given: Partial<EndpointInfo> = {}): EndpointInfo {
  return {
    name,
    kind: 'openai',
    base_url: 'http://127.0.0.1:1/v1',
    model: 'm',
    models: [],
    protocol: null,
    constraint: null,
    context_length: null,
    has_key: false,
    source: 'saved',
    status: 'unknown',
    abilities: [],
    hint: '',
    default: false,
    roles: [],
    ...given
  };
}

/** Answers each request with the next of its answers; the last one repeats. */
class FakeServer implements Transport {
  readonly sent: string[] = [];

  constructor(private readonly _answers: Record<string, Response[]>) {}

  async request(path: string, init: RequestInit): Promise<Response> {
    const key = `${init.method} ${path}`;
    this.sent.push(key);
    const answers = this._answers[key] ?? [];
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    return (answer ?? Response.json({ message: `no ${key}` }, { status: 404 })).clone();
  }
}

function list(...endpoints: EndpointInfo[]): Response {
  return Response.json({ endpoints, discoveries: [] });
}

function local(state: LocalModel['state']): Response {
  const model = { path: '/m.gguf', size_bytes: 1, state, detail: '', base_url: '' };
  return Response.json({ installed: true, hint: '', models: [model] });
}

it('the tour and what does not work are no models to answer with', async () => {
  const server = new FakeServer({
    'GET endpoints': [
      list(endpoint('tour', { kind: 'tour' }), endpoint('a'), endpoint('b', { status: 'failed' }))
    ],
    'GET local': [local('available')]
  });
  const model = new EndpointsModel(new Client(server));
  await model.refresh();
  expect(model.usable.map(entry => entry.name)).toEqual(['a']);
  expect(model.local?.installed).toBe(true);
});

it('an endpoint that is refused is said so with what to do, and nothing is added', async () => {
  const refused = Response.json(
    { message: 'name is taken', hint: 'choose another', place: 'name' },
    { status: 409 }
  );
  const model = new EndpointsModel(new Client(new FakeServer({ 'POST endpoints': [refused] })));
  expect(await model.add({ name: 'a', base_url: 'http://x' })).toBe(false);
  expect(model.trouble).toEqual({ message: 'name: name is taken', hint: 'choose another', offline: false });
  expect(model.busy).toBe('');
});

it('a file that is served is followed until it is ready, and then tried', async () => {
  jest.useFakeTimers({ advanceTimers: true });
  const server = new FakeServer({
    'POST local': [Response.json({}, { status: 202 })],
    'GET local': [local('loading'), local('loading'), local('ready')],
    'GET endpoints': [list(endpoint('local', { kind: 'local' }))],
    'POST endpoints/local/probe': [Response.json(endpoint('local', { kind: 'local', status: 'ready' }))]
  });
  const model = new EndpointsModel(new Client(server));
  const words: string[] = [];
  model.changed.connect(() => words.push(model.busy));
  const done = model.startLocal('/m.gguf');
  await jest.advanceTimersByTimeAsync(3000);
  await done;
  jest.useRealTimers();
  expect(model.usable[0]?.status).toBe('ready');
  expect(server.sent.filter(request => request === 'GET local')).toHaveLength(3);
  expect(words).toContain('Starting the embedded model…');
});
