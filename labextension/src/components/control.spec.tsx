import { readFileSync } from 'fs';
import { join } from 'path';
import * as React from 'react';
import { createRoot, type Root } from 'react-dom/client';
import type { SessionSummary, SessionView, TurnView } from '../api/types.gen';
import { Activity } from './Activity';
import { Announcer } from './Announcer';
import { CallCard } from './CallCard';
import { ContextGauge } from './ContextGauge';
import { Queue } from './Queue';
import { SessionHead, type SessionHeadProps } from './SessionHead';
import { SessionList } from './SessionList';
import { Transcript } from './Transcript';
import { WorkersContext } from './Worker';

const { view: LONG }: { view: SessionView } = JSON.parse(
  readFileSync(join(__dirname, '../../../tests/cases/logs/long_life.json'), 'utf-8')
);
const NOW = Date.parse('2026-03-01T09:10:00Z');

const { act } = React;
const nothing = () => undefined;

let host: HTMLElement;
let root: Root;

beforeEach(() => {
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
  Element.prototype.scrollTo = () => undefined;
  jest.spyOn(Date, 'now').mockReturnValue(NOW);
  host = document.body.appendChild(document.createElement('div'));
  root = createRoot(host);
});

afterEach(() => {
  act(() => root.unmount());
  host.remove();
  jest.restoreAllMocks();
});

function draw(element: React.ReactElement): void {
  act(() => root.render(element));
}

function named<T extends HTMLElement>(label: string): T {
  const found = [...host.querySelectorAll<T>('*')].find(
    element =>
      element.getAttribute('aria-label') === label ||
      (element.tagName === 'BUTTON' && element.textContent === label)
  );
  if (found === undefined) {
    throw new Error(`nothing is called ${label} in ${host.innerHTML}`);
  }
  return found;
}

async function click(label: string): Promise<void> {
  await act(async () => named(label).click());
}

async function type(text: string): Promise<void> {
  const field = named<HTMLTextAreaElement>('Queued message');
  const setter = Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, 'value')?.set;
  await act(async () => {
    setter?.call(field, text);
    field.dispatchEvent(new Event('input', { bubbles: true }));
  });
}

function waiting(seconds: number): SessionView {
  const since = new Date(NOW - 5_000).toISOString();
  const text = 'waiting 12 s, the server asked for it (try 2 of 4): busy';
  return { ...LONG, state: 'processing', waiting: { step_id: 's1', text, since, seconds } };
}

describe('a wait', () => {
  it('says why, which try comes next and how long it still lasts', () => {
    draw(<Activity view={waiting(12)} onResume={nothing} />);
    expect(named('Waiting').textContent).toContain('Waiting 12 s, the server asked for it (try 2 of 4)');
    expect(named('Waiting').textContent).toContain('7 s left');
  });

  it('that is over is over, whatever the clocks say', () => {
    draw(<Activity view={waiting(4)} onResume={nothing} />);
    expect(named('Waiting').textContent).toContain('now');
  });

  it('is said once to those who cannot see the screen, without its seconds', () => {
    draw(<Announcer view={waiting(12)} />);
    expect(host.textContent).toBe('waiting 12 s, the server asked for it (try 2 of 4): busy');
  });

  it('stands in the conversation once', () => {
    const turns = LONG.turns.map((turn, index) => (index === 0 ? { ...turn, code: null } : turn));
    draw(<Transcript view={{ ...waiting(12), turns }} drafts={null} onResume={nothing} />);
    const noticed =
      LONG.turns[0]?.items.filter(item => item.type === 'notice' && item.kind === 'retry') ?? [];
    expect(host.querySelectorAll('[data-kind=retry]')).toHaveLength(noticed.length - 1);
  });
});

it('a paused session says so and is resumed', async () => {
  const resumed = jest.fn();
  draw(<Activity view={{ ...LONG, state: 'paused' }} onResume={resumed} />);
  expect(named('Paused').textContent).toContain('Paused until you resume it');
  await click('Resume');
  expect(resumed).toHaveBeenCalledTimes(1);
});

it('a turn shows its plan, what the host did, and corrections before the answer', () => {
  draw(<Transcript view={LONG} drafts={null} onResume={nothing} />);
  const text = host.textContent ?? '';
  expect(named('Plan').textContent).toContain('Mend');
  for (const words of ['AGENTS.md changed.', 'AGENTS.md is gone.', 'Scripted failed; spare answers']) {
    expect(text).toContain(words);
  }
  expect(text).toContain('1,234,567 → 4,321 tokens');
  expect(text.indexOf('No test was run in this turn.')).toBeGreaterThan(0);
  expect(text.indexOf('No test was run in this turn.')).toBeLessThan(text.indexOf('All tests pass.'));
  expect(named('Correction').getAttribute('role')).toBe('note');
});

it('the foot of a turn says how it ended and what it took', () => {
  draw(<Transcript view={LONG} drafts={null} onResume={nothing} />);
  const foot = host.querySelector('footer')?.textContent ?? '';
  expect(foot).toContain('Too many changed lines: 200 lines');
  expect(foot).toContain('2 steps');
  expect(foot).toContain('900 in (700 cached), 50 out');
  expect(foot).toContain('75% prefix kept');
  expect(foot).toContain('cost 0.688');
});

it('a plan says how far it is', () => {
  const steps = [
    { text: 'look', status: 'completed' as const },
    { text: 'mend', status: 'in_progress' as const },
    { text: 'test', status: 'pending' as const }
  ];
  const turns = LONG.turns.map(turn => ({
    ...turn,
    code: null,
    plan: { approach: 'Go', steps, tools: ['read_file'], by: 'agent' as const }
  }));
  draw(<Transcript view={{ ...LONG, turns }} drafts={null} onResume={nothing} />);
  expect(named('Plan').textContent).toContain('1 of 3 done');
  expect([...host.querySelectorAll('li')].map(item => item.textContent)).toEqual(
    expect.arrayContaining(['Done look', 'Doing mend', ' test'])
  );
});

describe('the queue', () => {
  const queued: TurnView[] = LONG.turns.slice(1);
  const queue = (turns: readonly TurnView[], lost: string[] = [], safe = true, edits: string[][] = []) => (
    <Queue
      turns={turns}
      onWithdraw={nothing}
      onEdit={(...edit) => {
        edits.push(edit);
        return Promise.resolve(safe);
      }}
      onLost={text => lost.push(text)}
    />
  );

  it('lets a message be changed in place', async () => {
    const edits: string[][] = [];
    draw(queue(queued, [], true, edits));
    await click('Edit message');
    expect(document.activeElement).toBe(named('Queued message'));
    await type(' sooner ');
    await click('Save message');
    expect(edits).toEqual([['t2', 'sooner']]);
    expect(document.activeElement).toBe(named('Edit message'));
  });

  it('keeps what was typed when it could not be saved', async () => {
    draw(queue(queued, [], false));
    await click('Edit message');
    await type('sooner');
    await click('Save message');
    expect(named<HTMLTextAreaElement>('Queued message').value).toBe('sooner');
  });

  it('gives back what was typed when the turn began meanwhile', async () => {
    const lost: string[] = [];
    draw(queue(queued, lost));
    await click('Edit message');
    await type('sooner');
    draw(queue([], lost));
    expect(lost).toEqual(['sooner']);
  });

  it('gives nothing back that was not changed', async () => {
    const lost: string[] = [];
    draw(queue(queued, lost));
    await click('Edit message');
    draw(queue([], lost));
    expect(lost).toEqual([]);
  });
});

describe('the context', () => {
  it('is made shorter on request, when nothing runs', async () => {
    const compacted = jest.fn();
    const view = { ...LONG, state: 'idle_ready' as const, context_tokens: 2048, context_length: 8192 };
    draw(<ContextGauge view={view} onCompact={compacted} />);
    await click('Context: 25% of 8.2k');
    expect(named('Context').textContent).toContain('2,048 of at most 8,192 tokens');
    await click('Compact now');
    expect(compacted).toHaveBeenCalledTimes(1);
    draw(<ContextGauge view={{ ...view, state: 'processing' }} onCompact={compacted} />);
    expect(named<HTMLButtonElement>('Compact now').disabled).toBe(true);
  });

  it('without a known length is a number', () => {
    draw(<ContextGauge view={{ ...LONG, context_tokens: 2048, context_length: null }} onCompact={nothing} />);
    expect(named('Context: 2k tokens').textContent).toBe('2k tokens');
  });
});

const WORKER: SessionSummary = {
  session_id: 'w1',
  title: 'part',
  state: 'awaiting_user',
  mode: 'edit',
  endpoint: null,
  kernel_name: '',
  space_root: '',
  record_path: '',
  archived: false,
  created_at: '',
  updated_at: '2026-03-01T09:00:00Z',
  last_seq: 1,
  open_approvals: 1,
  turns: 1,
  parent: 's1',
  notebook: ''
};

describe('a worker', () => {
  const call = LONG.turns.flatMap(turn => turn.items).find(item => item.type === 'call');
  if (call?.type !== 'call' || call.worker === null) {
    throw new Error('no call with a worker');
  }
  const { worker } = call;
  const opened: string[] = [];
  const workers = {
    summary: () => WORKER,
    open: (id: string) => opened.push(id),
    Questions: ({ workerId }: { workerId: string }) => <p>{workerId} asks</p>
  };

  it('is shown in its call: state, questions, session', async () => {
    const open = { ...call, status: 'in_progress' as const, worker: { ...worker, code: null, answer: '' } };
    draw(
      <WorkersContext.Provider value={workers}>
        <CallCard call={open} />
      </WorkersContext.Provider>
    );
    expect(named('Worker: part').textContent).toContain('Needs you');
    expect(named('Worker: part').textContent).toContain('w1 asks');
    await click('Open its session');
    expect(opened).toEqual(['w1']);
  });

  it('that is done shows how it ended and what it answered', () => {
    draw(<CallCard call={call} />);
    expect(named('Worker: part').textContent).toContain('Out of money');
    expect(named('Worker: part').textContent).toContain('done');
  });

  it('is not in the list of sessions, but the one that it works for needs the user', () => {
    const own = {
      ...WORKER,
      session_id: 's1',
      title: 'Mine',
      state: 'awaiting_workers' as const,
      parent: null,
      notebook: ''
    };
    const list = [WORKER, { ...own, open_approvals: 0 }];
    draw(
      <SessionList
        sessions={list}
        loaded
        current={null}
        onOpen={nothing}
        onRename={nothing}
        onArchive={nothing}
      />
    );
    expect(host.querySelectorAll('li')).toHaveLength(1);
    expect(named('Sessions').textContent).toContain('Needs you');
  });
});

it('a call that may have run has a word of its own', () => {
  const call = LONG.turns
    .flatMap(turn => turn.items)
    .find(item => item.type === 'call' && item.call_id === 'c2');
  if (call?.type !== 'call') {
    throw new Error('no call c2');
  }
  draw(<CallCard call={{ ...call, worker: null }} />);
  expect(host.querySelector('.jp-Pernix-chip')?.textContent).toBe('May have run');
  expect(host.textContent).toContain('it is not run again by itself');
});

describe('the head', () => {
  const head = (view: SessionView, more: Partial<SessionHeadProps> = {}) => (
    <SessionHead
      view={view}
      kernels={new Map()}
      onRename={nothing}
      onKernel={nothing}
      onOpenRecord={nothing}
      {...more}
    />
  );

  it('says the state and since when', () => {
    const since = new Date(NOW - 65_000).toISOString();
    const said = (view: Partial<SessionView>) => {
      draw(head({ ...LONG, state_since: since, ...view }));
      return host.querySelector('.jp-Pernix-state')?.textContent;
    };
    expect(said({ state: 'scouting' })).toBe('Planning for 1 min 5 s');
    expect(said({ state: 'paused' })).toBe('Paused for 1 min 5 s');
    expect(said({ state: 'idle_ready' })).toMatch(/^Ready since \d/);
    expect(said({ ...waiting(12), state_since: since })).toBe('Waiting to ask again, 7 s left');
  });

  it('says that a worker needs the user', () => {
    draw(head({ ...LONG, state: 'awaiting_workers' }, { workerAsks: true }));
    expect(host.querySelector('.jp-Pernix-state')?.textContent).toContain('A worker needs you');
  });

  it('leads from a worker to the session that it works for', async () => {
    const opened = jest.fn();
    draw(head({ ...LONG, parent: 'ses_0' }, { parent: { ...WORKER, title: 'Above' }, onOpenParent: opened }));
    await click('Above');
    expect(opened).toHaveBeenCalledTimes(1);
  });
});
