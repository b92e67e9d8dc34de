import { readFileSync } from 'fs';
import { join } from 'path';
import * as React from 'react';
import { createRoot, type Root } from 'react-dom/client';
import type { CallView, EndpointInfo, SessionSummary, SessionView } from '../api/types.gen';
import { emptyView } from '../model/reduce';
import { CallCard } from './CallCard';
import { Composer, type ComposerProps } from './Composer';
import { Endpoints, type EndpointsProps } from './Endpoints';
import { QUIET } from './quiet';
import { SessionHead } from './SessionHead';
import { SessionList } from './SessionList';
import { Transcript } from './Transcript';

const { view: WHOLE }: { view: SessionView } = JSON.parse(
  readFileSync(join(__dirname, '../../../tests/cases/logs/whole_job.json'), 'utf-8')
);

const { act } = React;

let host: HTMLElement;
let root: Root;

beforeEach(() => {
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
  Element.prototype.scrollTo = () => undefined;
  host = document.body.appendChild(document.createElement('div'));
  root = createRoot(host);
});

afterEach(() => {
  act(() => root.unmount());
  host.remove();
});

function draw(element: React.ReactElement): void {
  act(() => root.render(element));
}

function named<T extends HTMLElement>(label: string): T {
  const all = [...host.querySelectorAll<T>('*')];
  const found =
    all.find(element => element.getAttribute('aria-label') === label) ??
    all.findLast(element => !element.hasAttribute('aria-label') && element.textContent === label);
  if (found === undefined) {
    throw new Error(`nothing is called ${label} in ${host.innerHTML}`);
  }
  return found;
}

async function click(label: string): Promise<void> {
  await act(async () => named(label).click());
}

async function type(field: HTMLTextAreaElement | HTMLInputElement, text: string): Promise<void> {
  const setter = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), 'value')?.set;
  await act(async () => {
    setter?.call(field, text);
    field.dispatchEvent(new Event('input', { bubbles: true }));
  });
}

async function press(field: HTMLElement, key: string, init: KeyboardEventInit = {}): Promise<void> {
  await act(async () => {
    field.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...init }));
  });
}

function composer(given: Partial<ComposerProps>): React.ReactElement {
  const nothing = () => undefined;
  return (
    <Composer
      view={emptyView('s')}
      queued={[]}
      endpoints={[]}
      draft=""
      onDraft={nothing}
      onSend={() => Promise.resolve(true)}
      onStop={nothing}
      onPause={nothing}
      onResume={nothing}
      onEdit={() => Promise.resolve(true)}
      onCompact={nothing}
      onWithdraw={nothing}
      onMode={nothing}
      onEndpoint={nothing}
      focus={0}
      {...given}
    />
  );
}

describe('the composer', () => {
  it('sends with Enter, not with Shift+Enter, and is empty when the message is safe', async () => {
    const sent: string[] = [];
    draw(composer({ onSend: text => Promise.resolve(sent.push(text) > 0) }));
    const field = named<HTMLTextAreaElement>('Message');
    await type(field, ' fix it ');
    await press(field, 'Enter', { shiftKey: true });
    expect(sent).toEqual([]);
    await press(field, 'Enter');
    expect(sent).toEqual(['fix it']);
    expect(field.value).toBe('');
  });

  it('keeps the text when it could not be sent', async () => {
    draw(composer({ onSend: () => Promise.resolve(false), draft: 'precious' }));
    const field = named<HTMLTextAreaElement>('Message');
    await press(field, 'Enter');
    expect(field.value).toBe('precious');
  });

  it('offers to stop while something runs and shows what waits', async () => {
    const withdrawn: string[] = [];
    const queued = WHOLE.turns.filter(turn => turn.started_at === null);
    draw(
      composer({
        view: { ...emptyView('s'), state: 'processing' },
        queued,
        onWithdraw: id => withdrawn.push(id)
      })
    );
    expect(named<HTMLButtonElement>('Stop').disabled).toBe(false);
    expect(named('Queued messages').textContent).toContain('and then?');
    await click('Withdraw');
    expect(withdrawn).toEqual(['t2']);
    expect(document.activeElement).toBe(named('Message'));
  });

  it('says how full the context is', () => {
    draw(composer({ view: { ...emptyView('s'), context_tokens: 2048, context_length: 8192 } }));
    expect(named('Context: 25% of 8.2k').textContent).toBe('25% of 8.2k');
  });
});

function callOf(view: SessionView, id: string): CallView {
  const call = view.turns
    .flatMap(turn => turn.items)
    .find(item => item.type === 'call' && item.call_id === id);
  if (call?.type !== 'call') {
    throw new Error(`no call ${id}`);
  }
  return call;
}

describe('a tool call', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());
  const quietIsOver = () => act(() => jest.advanceTimersByTime(QUIET));

  it('asks on its card, and a rejection takes the words along', async () => {
    const call = callOf(WHOLE, 'c2');
    if (call.approval === null) {
      throw new Error('the call was never asked about');
    }
    const answers: unknown[][] = [];
    const open: CallView = { ...call, execution: null, approval: { ...call.approval, choice: null } };
    draw(
      <CallCard
        call={open}
        onAnswer={(...answer) => {
          answers.push(answer);
          return Promise.resolve(true);
        }}
      />
    );
    expect(host.textContent).toContain('Run this code?');
    quietIsOver();
    await type(named<HTMLInputElement>('What to do instead'), 'read it first');
    await click('Reject');
    expect(answers).toEqual([['a1', 'reject_once', 'read it first', null]]);
  });

  it('can be answered again when the answer did not arrive', async () => {
    const call = callOf(WHOLE, 'c2');
    const approval = call.approval && { ...call.approval, choice: null };
    draw(<CallCard call={{ ...call, approval }} onAnswer={() => Promise.resolve(false)} />);
    quietIsOver();
    await click('Allow once');
    expect(named('Allow once').getAttribute('aria-disabled')).toBe('false');
  });

  it('keeps the focus of who answered by keyboard', async () => {
    const call = callOf(WHOLE, 'c2');
    const asked = { ...call, execution: null, approval: call.approval && { ...call.approval, choice: null } };
    const card = (shown: CallView) => <CallCard call={shown} onAnswer={() => Promise.resolve(true)} />;
    draw(card(asked));
    quietIsOver();
    named('Allow once').focus();
    await click('Allow once');
    expect(document.activeElement?.textContent).toBe('Allow once');
    draw(card(call));
    expect(document.activeElement?.className).toBe('jp-Pernix-callHead');
  });

  it('that the user did not want is rejected, not failed', () => {
    const call = callOf(WHOLE, 'c2');
    const approval = call.approval && { ...call.approval, choice: 'reject_once' as const };
    draw(<CallCard call={{ ...call, approval, execution: null, status: 'failed' }} />);
    expect(host.querySelector('.jp-Pernix-chip')?.textContent).toBe('Rejected');
    expect(host.querySelector('.jp-mod-failed')).toBeNull();
  });

  it('shows its code, its outputs and what became of the question', () => {
    draw(<CallCard call={callOf(WHOLE, 'c2')} onAnswer={() => Promise.resolve(true)} />);
    const card = host.querySelector('[role=group]');
    expect(card?.getAttribute('data-status')).toBe('completed');
    expect(card?.textContent).toContain('print(x)');
    expect(named('Outputs').textContent).toContain('0 1 ✓');
    expect(card?.textContent).toContain('Allowed for this session');
  });

  it('names an error before its traceback', () => {
    const call = callOf(WHOLE, 'c2');
    const execution = call.execution && { ...call.execution, ename: 'KeyError', evalue: "'nope'" };
    draw(<CallCard call={{ ...call, execution, status: 'failed' }} />);
    const text = host.textContent ?? '';
    expect(text.indexOf("KeyError: 'nope'")).toBeLessThan(text.indexOf('0 1 ✓'));
    expect(text).toContain("KeyError: 'nope'");
  });

  it('shows a change as a diff and opens the file', async () => {
    const opened: string[] = [];
    draw(<CallCard call={callOf(WHOLE, 'c3')} onOpenFile={path => opened.push(path)} />);
    expect(host.querySelector('.jp-mod-added')?.textContent).toBe('+b\n');
    await click('csv/importer.py');
    expect(opened).toEqual(['csv/importer.py']);
  });

  it('is folded when there is nothing that a reader waits for', async () => {
    draw(<CallCard call={callOf(WHOLE, 'c1')} />);
    expect(host.textContent).not.toContain('import csv');
    await act(async () => host.querySelector('button')?.click());
    expect(host.textContent).toContain('import csv');
  });

  it('is text, whatever it is called and whatever it says', () => {
    const evil = '<img src=x onerror=alert(1)>\u202e';
    const call = callOf(WHOLE, 'c1');
    draw(
      <CallCard
        call={{ ...call, title: evil, status: 'failed', result: evil, arguments: { [evil]: evil } }}
      />
    );
    expect(host.querySelector('img')).toBeNull();
    expect(host.querySelector('[role=group]')?.getAttribute('aria-label')).toContain('\\u202e');
  });
});

it('the transcript shows what came of each turn that began', () => {
  const nothing = () => undefined;
  draw(<Transcript view={WHOLE} drafts={null} onResume={nothing} onAnswer={() => Promise.resolve(true)} />);
  const turns = host.querySelectorAll('article');
  expect(turns).toHaveLength(1);
  expect(turns[0]?.textContent).toContain('Find the bug 🐛');
  expect(turns[0]?.textContent).toContain('The endpoint was slow.');
  expect(turns[0]?.textContent).toContain('900 in (700 cached), 50 out');
});

it('an interrupted turn can be taken up again', async () => {
  const resumed = jest.fn();
  const turns = WHOLE.turns.slice(0, 1).map(turn => ({ ...turn, code: 'interrupted' as const }));
  draw(<Transcript view={{ ...WHOLE, turns }} drafts={null} onResume={resumed} />);
  await click('Go on');
  expect(resumed).toHaveBeenCalledTimes(1);
});

it('what is being written stands in its turn', () => {
  const [turn] = WHOLE.turns.slice(0, 1).map(entry => ({ ...entry, code: null }));
  const text = (value: string) => ({ text: value, points: value.length });
  const drafts = { turnId: 't1', stepId: 's9', message: text('half a sen'), thought: text(''), calls: [] };
  draw(
    <Transcript
      view={{ ...WHOLE, state: 'processing', turns: turn ? [turn] : [] }}
      drafts={drafts}
      onResume={() => undefined}
    />
  );
  expect(host.querySelector('article')?.textContent).toContain('half a sen');
});

it('a text keeps its place on the page when it is done being written', () => {
  const [turn] = WHOLE.turns.slice(0, 1).map(entry => ({ ...entry, code: null }));
  if (turn === undefined) {
    throw new Error('no turn');
  }
  const text = (value: string) => ({ text: value, points: value.length });
  const drafts = { turnId: 't1', stepId: 's9', message: text('half'), thought: text(''), calls: [] };
  const shown = (items: typeof turn.items, draft: typeof drafts | null) => (
    <Transcript
      view={{ ...WHOLE, state: 'processing', turns: [{ ...turn, items }] }}
      drafts={draft}
      onResume={() => undefined}
    />
  );
  draw(shown(turn.items, drafts));
  const written = [...host.querySelectorAll('[aria-label=Answer]')].at(-1);
  const stored = { type: 'message' as const, step_id: 's9', text: 'half and half', corrections: ['No.'] };
  draw(shown([...turn.items, stored], { ...drafts, message: text('') }));
  expect([...host.querySelectorAll('[aria-label=Answer]')].at(-1)).toBe(written);
  expect(written?.textContent).toBe('half and half');
});

describe('the session list', () => {
  const summary: SessionSummary = {
    session_id: 's1',
    title: 'One',
    state: 'awaiting_user',
    mode: 'edit',
    endpoint: null,
    kernel_name: '',
    space_root: 'csv',
    record_path: '',
    archived: false,
    created_at: '2026-01-01T00:00:00Z',
    updated_at: '2026-01-01T00:00:00Z',
    last_seq: 1,
    open_approvals: 1,
    turns: 1,
    parent: null,
    notebook: ''
  };

  it('says who needs the user, and renames', async () => {
    const renamed: string[][] = [];
    draw(
      <SessionList
        sessions={[summary]}
        loaded
        current={null}
        onOpen={() => undefined}
        onRename={(...names) => renamed.push(names)}
        onArchive={() => undefined}
      />
    );
    expect(named('Sessions').textContent).toContain('Needs you');
    await click('Rename One');
    const field = named<HTMLInputElement>('Session title');
    await type(field, 'Two');
    await press(field, 'Enter');
    expect(renamed).toEqual([['s1', 'Two']]);
    expect(document.activeElement).toBe(named('Rename One'));
  });

  it('sets the focus on the next session when one is archived', async () => {
    const archived: string[] = [];
    draw(
      <SessionList
        sessions={[summary, { ...summary, session_id: 's2', title: 'Other', state: 'idle_ready' }]}
        loaded
        current={null}
        onOpen={() => undefined}
        onRename={() => undefined}
        onArchive={id => archived.push(id)}
      />
    );
    await click('Archive One');
    expect(archived).toEqual(['s1']);
    expect(document.activeElement?.textContent).toContain('Other');
  });
});

it('a recorded tour is labelled as what it is', () => {
  const nothing = () => undefined;
  draw(
    <SessionHead
      view={{ ...WHOLE, endpoint: 'tour' }}
      kernels={new Map()}
      onRename={nothing}
      onKernel={nothing}
      onOpenRecord={nothing}
    />
  );
  expect(host.querySelector('[role=note]')?.textContent).toContain('Recorded tour — not a model');
});

describe('the models page', () => {
  function page(given: Partial<EndpointsProps>): React.ReactElement {
    const nothing = () => undefined;
    return (
      <Endpoints
        endpoints={[]}
        discoveries={[]}
        local={null}
        loaded
        busy=""
        onTour={nothing}
        onDiscover={nothing}
        onAdd={() => Promise.resolve(true)}
        onRemove={nothing}
        onProbe={nothing}
        onDefault={nothing}
        onStartLocal={nothing}
        onStopLocal={nothing}
        {...given}
      />
    );
  }

  it('welcomes who has no model and adds one with a name from its address', async () => {
    const added: unknown[] = [];
    draw(
      page({
        onAdd: body => {
          added.push(body);
          return Promise.resolve(true);
        }
      })
    );
    expect(named('Welcome').textContent).toContain('Bring a model');
    const url = host.querySelector<HTMLInputElement>('input[type=url]');
    if (url === null) {
      throw new Error('no field for the address');
    }
    await type(url, 'http://127.0.0.1:8000/v1');
    await click('Add and test');
    expect(added).toEqual([
      { name: 'local-8000', base_url: 'http://127.0.0.1:8000/v1', model: '', api_key: '', protocol: 'auto' }
    ]);
  });

  it('says why one does not work and what to do, and lets it be changed', async () => {
    const saved: unknown[] = [];
    const endpoint: EndpointInfo = {
      name: 'work',
      kind: 'openai',
      base_url: 'http://models.test/v1',
      model: 'm',
      models: [],
      protocol: null,
      constraint: null,
      roles: [],
      context_length: null,
      has_key: true,
      source: 'saved',
      status: 'failed',
      abilities: [{ name: 'key', ok: false, detail: 'the key was refused' }],
      hint: 'check the API key of this endpoint',
      default: false
    };
    draw(
      page({
        endpoints: [endpoint],
        onAdd: body => {
          saved.push(body);
          return Promise.resolve(true);
        }
      })
    );
    expect(named('work').textContent).toContain('✗ key accepted: the key was refused');
    expect(named('work').textContent).toContain('Check the API key of this endpoint');
    await click('Change');
    const key = host.querySelector<HTMLInputElement>('input[type=password]');
    if (key === null) {
      throw new Error('no field for the key');
    }
    await type(key, 'right');
    await click('Save and test');
    expect(saved).toEqual([
      { name: 'work', base_url: 'http://models.test/v1', model: 'm', api_key: 'right', protocol: 'auto' }
    ]);
    expect(named('Add a model').textContent).toContain('Add and test');
    expect(document.activeElement?.getAttribute('type')).toBe('url');
  });

  it('says how to get the embedded model when it is missing', () => {
    draw(page({ local: { installed: false, hint: 'pip install "jupyter_pernix[local]"', models: [] } }));
    expect(named('Embedded model').textContent).toContain('pip install "jupyter_pernix[local]"');
  });
});
