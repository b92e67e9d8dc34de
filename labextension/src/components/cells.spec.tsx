import { readFileSync } from 'fs';
import { join } from 'path';
import * as React from 'react';
import { createRoot, type Root } from 'react-dom/client';
import type { CallView, CellChangeView, ChangeDecision, InputView, SessionView } from '../api/types.gen';
import { emptyView, reduceAll, type AnyStored } from '../model/reduce';
import { Announcer } from './Announcer';
import { CallCard, type CallCardProps } from './CallCard';
import { Pictures } from './Pictures';
import { QUIET } from './quiet';
import { SessionHead } from './SessionHead';
import { Told } from './Told';
import { Transcript } from './Transcript';

const { view: DONE, log: LOG }: { view: SessionView; log: AnyStored[] } = JSON.parse(
  readFileSync(join(__dirname, '../../../tests/cases/logs/in_a_notebook.json'), 'utf-8')
);
const PIXEL = { mime: 'image/png', data: 'iVBORw0KGgo=' };

const { act } = React;
const nothing = () => undefined;
const stored = () => Promise.resolve(true);

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

function button(label: string): HTMLButtonElement {
  const found = [...host.querySelectorAll('button')].find(
    entry => entry.textContent === label || entry.getAttribute('aria-label') === label
  );
  if (found === undefined) {
    throw new Error(`no button ${label} in ${host.innerHTML}`);
  }
  return found;
}

async function click(label: string): Promise<void> {
  await act(async () => button(label).click());
}

function field(): HTMLInputElement {
  const found = host.querySelector<HTMLInputElement>('.jp-Pernix-inputs input');
  if (found === null) {
    throw new Error(`nothing is asked in ${host.innerHTML}`);
  }
  return found;
}

async function write(text: string): Promise<void> {
  const setter = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')?.set;
  await act(async () => {
    setter?.call(field(), text);
    field().dispatchEvent(new Event('input', { bubbles: true }));
  });
}

async function enter(): Promise<void> {
  await act(async () => {
    field().dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }));
  });
}

/** The session after its `nth` event of a type, counted from 1. */
function after(type: string, nth: number): SessionView {
  const places = LOG.flatMap((event, index) => (event.type === type ? [index] : []));
  return reduceAll(emptyView(DONE.session_id), LOG.slice(0, (places[nth - 1] ?? 0) + 1));
}

function callOf(view: SessionView, id: string): CallView {
  const call = view.turns
    .flatMap(turn => turn.items)
    .find(item => item.type === 'call' && item.call_id === id);
  if (call?.type !== 'call') {
    throw new Error(`no call ${id}`);
  }
  return call;
}

function card(call: CallView, given: Partial<CallCardProps> = {}): React.ReactElement {
  return <CallCard call={call} onInput={stored} onDecide={stored} {...given} />;
}

describe('a line that running code asks for', () => {
  const asked = callOf(after('input.requested', 1), 'c2');

  it('is sent with Enter, an empty one too', async () => {
    const sent: (string | null)[][] = [];
    const onInput = (id: string, text: string | null) => Promise.resolve(sent.push([id, text]) > 0);
    draw(card(asked, { onInput }));
    expect(host.textContent).toContain('Needs you');
    expect(host.querySelector('.jp-Pernix-question')?.textContent).toContain('Who?');
    await write('Ada');
    await enter();
    draw(<></>);
    draw(card(asked, { onInput }));
    await enter();
    expect(sent).toEqual([
      ['i1', 'Ada'],
      ['i1', '']
    ]);
  });

  it('need not be answered', async () => {
    const sent: (string | null)[] = [];
    jest.useFakeTimers();
    draw(card(asked, { onInput: (_, text) => Promise.resolve(sent.push(text) > 0) }));
    await click('Do not answer');
    expect(sent).toEqual([]);
    act(() => jest.advanceTimersByTime(QUIET));
    jest.useRealTimers();
    await click('Do not answer');
    expect(sent).toEqual([null]);
  });

  it('is asked again when the answer did not arrive', async () => {
    draw(card(asked, { onInput: () => Promise.resolve(false) }));
    await write('Ada');
    await enter();
    expect(field().readOnly).toBe(false);
    expect(field().value).toBe('Ada');
  });

  it('takes no focus from elsewhere, and the next one takes it from the last', async () => {
    draw(card(asked));
    expect(document.activeElement).toBe(document.body);
    await write('Ada');
    field().focus();
    await enter();
    draw(card(callOf(after('input.answered', 1), 'c2')));
    expect(document.activeElement?.className).toBe('jp-Pernix-inputs');
    draw(card(callOf(after('input.requested', 2), 'c2')));
    expect(document.activeElement).toBe(field());
    expect(field().value).toBe('');
  });

  it('is hidden when it is a password, and says that it is kept nowhere', () => {
    draw(card(callOf(after('input.requested', 2), 'c2')));
    expect(field().type).toBe('password');
    expect(host.textContent).toContain('kept nowhere');
  });

  it('comes into sight on a card that was folded', () => {
    draw(card(callOf(after('execution.started', 1), 'c2')));
    act(() => host.querySelector('button')?.click());
    expect(host.querySelector('.jp-Pernix-callBody')?.hasAttribute('hidden')).toBe(true);
    draw(card(asked));
    expect(host.querySelector('.jp-Pernix-callBody')?.hasAttribute('hidden')).toBe(false);
  });

  it('is told to those who cannot see the screen', () => {
    draw(<Announcer view={after('input.requested', 1)} />);
    expect(host.textContent).toBe('Needs you: The running code asks for a line: Who?');
  });

  it.each<[string, Partial<InputView>]>([
    ['Answered: Ada ✓', { text: 'Ada ✓', by: 'panel' }],
    ['Answered (by cli): x', { text: 'x', by: 'cli' }],
    ['Not answered', { text: null, by: 'panel' }],
    ['The code ended before this was answered', { text: null, by: 'host' }]
  ])('says what became of it: %s', (words, given) => {
    const execution = asked.execution && {
      ...asked.execution,
      inputs: asked.execution.inputs.map(input => ({ ...input, ...given }))
    };
    draw(card({ ...asked, execution }));
    expect(host.querySelector('.jp-Pernix-answered')?.textContent).toBe(`Who? ${words}`);
  });

  it('is text, whatever it says', () => {
    const prompt = '<img src=x onerror=alert(1)>\u202e\nnext';
    const inputs = asked.execution?.inputs.map(input => ({ ...input, prompt })) ?? [];
    draw(card({ ...asked, execution: asked.execution && { ...asked.execution, inputs } }));
    expect(host.querySelector('img')).toBeNull();
    expect(host.querySelector('.jp-Pernix-prompt')?.textContent).toBe(
      '<img src=x onerror=alert(1)>\\u202e\nnext'
    );
  });
});

describe('changes of cells', () => {
  const made = callOf(after('tool_call.finished', 1), 'c1');
  const changes = () => [...host.querySelectorAll<HTMLElement>('.jp-Pernix-cellChange')];

  it('are shown as diffs, each with keep and undo until it is decided', async () => {
    const decided: string[][] = [];
    draw(card(made, { onDecide: (...decision) => Promise.resolve(decided.push(decision) > 0) }));
    expect(changes().map(change => change.dataset.status)).toEqual(['made', 'made', 'made', 'refused']);
    expect(changes()[0]?.querySelector('.jp-mod-added')?.textContent).toBe('+x = 2\n');
    expect(changes()[0]?.querySelector('.jp-mod-removed')?.textContent).toBe('-x = 1\n');
    expect(changes()[3]?.textContent).toContain('It changed since it was read.');
    expect(changes()[3]?.querySelectorAll('.jp-Pernix-decide')).toHaveLength(0);
    await click('Undo');
    expect(decided).toEqual([['g1', 'undo']]);
  });

  it('that were undone say what was not undone', () => {
    draw(card(callOf(DONE, 'c1')));
    expect(changes()[0]?.dataset.status).toBe('undone');
    expect(changes()[0]?.textContent).toContain('Nothing that ran is undone in the kernel.');
  });

  it('keep the focus of who decided by keyboard', async () => {
    draw(card(made));
    button('Keep').focus();
    await click('Keep');
    const kept: CallView = {
      ...made,
      cells: made.cells.map((cell, index): CellChangeView =>
        index === 0 ? { ...cell, status: 'kept' } : cell
      )
    };
    draw(card(kept));
    expect(document.activeElement).toBe(changes()[0]);
  });

  it('have no buttons where nothing can be decided', () => {
    draw(<CallCard call={made} />);
    expect(changes()).toHaveLength(4);
    expect(host.querySelectorAll('.jp-Pernix-decide')).toHaveLength(0);
  });

  it('of a whole turn are kept or undone at its foot', async () => {
    const decided: [string, ChangeDecision][] = [];
    draw(
      <Transcript
        view={DONE}
        drafts={null}
        onResume={nothing}
        onDecideAll={(...decision) => Promise.resolve(decided.push(decision) > 0)}
      />
    );
    expect(host.querySelector('footer')?.textContent).toContain('1 change of a cell');
    await click('Undo all');
    expect(decided).toEqual([['t1', 'undo']]);
  });
});

it('a cell that ran is named with its notebook, which opens', async () => {
  const opened: string[] = [];
  draw(card(callOf(DONE, 'c2'), { onOpenNotebook: path => opened.push(path) }));
  expect([...host.querySelectorAll('.jp-Pernix-cellLine')].map(line => line.textContent)).toEqual([
    'Cell [3]a.ipynb',
    'Cell [3]a.ipynb'
  ]);
  expect(host.textContent).toContain('NameError');
  expect(host.textContent).toContain('The notebook does not show these outputs yet.');
  await click('a.ipynb');
  expect(opened).toEqual(['csv/a.ipynb']);
});

it('outputs that have not reached the notebook are said only when the call is over', () => {
  draw(card(callOf(after('execution.finished', 1), 'c2')));
  expect(host.textContent).not.toContain('does not show these outputs');
});

describe('what the model was told', () => {
  it('stands under the message in chips that show the very words', async () => {
    draw(<Told turn={DONE.turns[0] ?? { mentions: [], context: [] }} />);
    const chips = [...host.querySelectorAll('.jp-Pernix-chip')].map(chip => chip.textContent);
    expect(chips).toEqual(['@df', 'Environment', 'Variables', 'Cell abc']);
    expect(host.textContent).not.toContain('as it is');
    await click('Environment');
    expect(host.querySelector('pre')?.textContent).toBe('python3: as it is');
    await click('Cell abc');
    expect(host.querySelector('img')?.getAttribute('src')).toBe('data:image/png;base64,iVBORw0KGgo=');
    await click('Cell abc');
    expect(host.querySelector('pre')).toBeNull();
  });

  it('is nothing when it was told nothing', () => {
    draw(<Told turn={{ mentions: [], context: [] }} />);
    expect(host.innerHTML).toBe('');
  });
});

it('pictures are pixels or they are not shown', () => {
  const bad = ['image/svg+xml', 'text/html', 'image/png;x,'].map(mime => ({ ...PIXEL, mime }));
  draw(<Pictures pictures={[PIXEL, ...bad, { ...PIXEL, data: '"><script>' }]} />);
  expect(host.querySelectorAll('img')).toHaveLength(1);
  expect(host.textContent).toBe('A picture of a kind that is not shown here'.repeat(4));
});

it('a kernel that is another one is said aloud in the turn', () => {
  draw(<Transcript view={DONE} drafts={null} onResume={nothing} />);
  expect([...host.querySelectorAll('[data-kind=kernel]')].map(notice => notice.textContent)).toEqual([
    'The kernel died; all variables are gone.',
    'The user restarted the kernel.'
  ]);
});

it('the head says in which notebook the session works, and lets go of it', async () => {
  const did: string[] = [];
  const head = (view: SessionView) => (
    <SessionHead
      view={view}
      kernels={new Map([['python3', 'Python 3']])}
      onRename={nothing}
      onKernel={nothing}
      onOpenRecord={nothing}
      onOpenNotebook={path => did.push(`open ${path}`)}
      onAttach={() => did.push('attach')}
      onDetach={() => did.push('detach')}
    />
  );
  const attached = after('session.attached', 2);
  draw(head(attached));
  expect(host.querySelector('.jp-Pernix-attached')?.textContent).toBe('renamed.ipynbPython 3');
  expect(host.querySelector('[aria-label=Kernel]')).toBeNull();
  await click('renamed.ipynb');
  await click('Detach from the notebook');
  draw(head({ ...attached, state: 'processing' }));
  expect(button('Detach from the notebook').disabled).toBe(true);
  draw(head(DONE));
  await click('Work in the open notebook');
  expect(did).toEqual(['open csv/renamed.ipynb', 'detach', 'attach']);
});
