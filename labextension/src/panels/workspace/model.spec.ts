/** @jest-environment node */
import { Client } from '../../api/client';
import { EventStream } from '../../api/stream';
import type { Transport } from '../../api/transport';
import type { SessionSummary } from '../../api/types.gen';
import { emptyView } from '../../model/reduce';
import { SessionsModel } from '../../model/sessions';
import { BrowserStore } from '../store';
import { WorkspaceModel } from './model';

function summary(id: string, given: Partial<SessionSummary> = {}): SessionSummary {
  return {
    session_id: id,
    title: '',
    state: 'idle_ready',
    mode: 'edit',
    endpoint: null,
    kernel_name: '',
    space_root: 'csv',
    record_path: '',
    archived: false,
    created_at: '',
    updated_at: '',
    last_seq: 1,
    open_approvals: 0,
    turns: 0,
    parent: null,
    notebook: '',
    ...given
  };
}

class FakeServer implements Transport {
  sessions: SessionSummary[] = [];
  endpoints: unknown[] = [];
  readonly created: unknown[] = [];

  async request(path: string, init: RequestInit): Promise<Response> {
    if (path.startsWith('stream')) {
      return new Response(new ReadableStream());
    }
    if (init.method === 'POST' && path === 'sessions') {
      this.created.push(JSON.parse(String(init.body)));
      return Response.json(summary('ses_new'), { status: 201 });
    }
    const answers: Record<string, unknown> = {
      '': { version: '1', last_seq: 1 },
      'sessions?archived=all&workers=true': this.sessions,
      endpoints: { endpoints: this.endpoints, discoveries: [] },
      local: { installed: false, hint: '', models: [] }
    };
    return Response.json(answers[path] ?? emptyView(path.split('/')[1] ?? ''));
  }
}

/** Keeps in memory what a browser would keep. */
class MemoryStore extends BrowserStore {
  readonly kept = new Map<string, string>();

  constructor() {
    super('test');
  }

  override get(key: string): string {
    return this.kept.get(key) ?? '';
  }

  override set(key: string, value: string): void {
    this.kept.set(key, value);
  }
}

let server: FakeServer;
let store: MemoryStore;
let models: { dispose(): void }[];

function open(): WorkspaceModel {
  const sessions = new SessionsModel(new Client(server), new EventStream({ transport: server }));
  const model = new WorkspaceModel(sessions, store, { folder: () => 'csv', mode: () => 'auto' });
  models.push(model, sessions);
  return model;
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) {
    await new Promise(resolve => setTimeout(resolve, 1));
  }
}

beforeEach(() => {
  server = new FakeServer();
  store = new MemoryStore();
  models = [];
});

afterEach(() => models.forEach(model => model.dispose()));

it('the session that was open comes back after a reload', async () => {
  server.sessions = [summary('ses_1', { turns: 1 })];
  open().open('ses_1');
  const again = open();
  await until(() => again.sessions.loaded);
  expect(again.place).toEqual({ at: 'session', sessionId: 'ses_1' });
});

it('a session that is gone is left', async () => {
  store.set('place', 'ses_gone');
  const model = open();
  await until(() => model.place.at === 'sessions');
});

it('a newcomer without a model and without sessions sees how to begin', async () => {
  const model = open();
  model.appear();
  await until(() => model.place.at === 'models');
});

it('a new session works in the folder in sight and in the mode of the settings', async () => {
  const model = open();
  await until(() => model.sessions.loaded);
  await model.create();
  expect(server.created).toEqual([{ space_root: 'csv', mode: 'auto', origin: 'panel' }]);
  expect(model.place).toEqual({ at: 'session', sessionId: 'ses_new' });
});

it('an empty session is taken rather than making another', async () => {
  server.sessions = [
    summary('ses_1', { turns: 2 }),
    summary('ses_2'),
    summary('ses_3', { space_root: 'other' })
  ];
  const model = open();
  await until(() => model.sessions.loaded);
  await model.create();
  expect(server.created).toEqual([]);
  expect(model.place).toEqual({ at: 'session', sessionId: 'ses_2' });
});

it('a new session is not an empty one that works in a notebook', async () => {
  server.sessions = [summary('ses_1', { notebook: 'csv/analysis.ipynb' })];
  const model = open();
  await until(() => model.sessions.loaded);
  await model.create();
  expect(model.place).toEqual({ at: 'session', sessionId: 'ses_new' });
});

it('a session that is opened offers the endpoints that were added elsewhere meanwhile', async () => {
  server.sessions = [summary('ses_1')];
  const model = open();
  model.appear();
  await until(() => model.endpoints.loaded);
  server.endpoints = [{ name: 'added', kind: 'openai', status: 'ready' }];
  model.open('ses_1');
  await until(() => model.endpoints.of('added') !== undefined);
});

it('leaving the models leads back to where one was', async () => {
  server.sessions = [summary('ses_1')];
  const model = open();
  await until(() => model.sessions.loaded);
  model.open('ses_1');
  model.showModels();
  model.showModels();
  model.leaveModels();
  expect(model.place).toEqual({ at: 'session', sessionId: 'ses_1' });
});

it('what was typed is kept for each session', () => {
  const model = open();
  model.keepDraft('ses_1', 'half a thought');
  expect(open().draft('ses_1')).toBe('half a thought');
  expect(model.draft('ses_2')).toBe('');
});
