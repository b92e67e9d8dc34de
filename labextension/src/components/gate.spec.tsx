import * as React from 'react';
import { createRoot, type Root } from 'react-dom/client';
import type { ApprovalView, CallView, ChangedFile, Permissions, TurnView } from '../api/types.gen';
import { readFileSync } from 'fs';
import { join } from 'path';
import { emptyView } from '../model/reduce';
import { Announcer } from './Announcer';
import { Approval, type ApprovalProps } from './Approval';
import { CallCard } from './CallCard';
import { FilesChanged } from './FilesChanged';
import {
  answerWords,
  denyWords,
  expiryWords,
  hookWords,
  modeWords,
  refusalWords,
  ruleWords,
  sandboxWords
} from './gatewords';
import { PermissionsPage, type PermissionsPageProps } from './PermissionsPage';
import { goToQuestion, questionsOf, QuestionsLine } from './QuestionsLine';
import { QUIET } from './quiet';

const { act } = React;
const WHOLE = JSON.parse(readFileSync(join(__dirname, '../../../tests/cases/logs/whole_job.json'), 'utf-8'))
  .view as { turns: TurnView[] };
const NOW = Date.parse('2026-03-01T09:10:00Z');

const ASKS: ApprovalView = {
  approval_id: 'a1',
  session_id: 's',
  turn_id: 't',
  call_id: 'c',
  question: 'Run this shell command?',
  detail: 'cargo test > log\\u202e',
  choices: ['allow_once', 'allow_session', 'allow_always', 'reject_once'],
  requested_at: '2026-03-01T09:00:00Z',
  why: 'it runs a program of the project',
  rules: ['cargo test', '>'],
  effects: ['starts a program', 'writes a file'],
  expires_at: null,
  resolved_at: null,
  choice: null,
  text: '',
  by: '',
  granted: []
};

let host: HTMLElement;
let root: Root;

beforeEach(() => {
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
  Element.prototype.scrollIntoView = () => undefined;
  jest.useFakeTimers({ now: NOW });
  host = document.body.appendChild(document.createElement('div'));
  root = createRoot(host);
});

afterEach(() => {
  act(() => root.unmount());
  host.remove();
  jest.useRealTimers();
});

function draw(element: React.ReactElement): void {
  act(() => root.render(element));
}

function quietIsOver(): void {
  act(() => jest.advanceTimersByTime(QUIET));
}

function button(label: string): HTMLButtonElement {
  const found = [...host.querySelectorAll('button')].find(
    entry => (entry.getAttribute('aria-label') ?? entry.textContent) === label
  );
  if (found === undefined) {
    throw new Error(`no button ${label} in ${host.innerHTML}`);
  }
  return found;
}

async function click(label: string): Promise<void> {
  await act(async () => button(label).click());
}

async function check(label: string): Promise<void> {
  const found = [...host.querySelectorAll('label')].find(entry => entry.textContent === label);
  await act(async () => found?.click());
}

async function write(field: HTMLInputElement | null, text: string): Promise<void> {
  const setter = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')?.set;
  await act(async () => {
    setter?.call(field, text);
    field?.dispatchEvent(new Event('input', { bubbles: true }));
  });
}

/** Draws a question; the answers that it gives. */
function asked(given: Partial<ApprovalView> = {}): Parameters<ApprovalProps['onAnswer']>[] {
  const answers: Parameters<ApprovalProps['onAnswer']>[] = [];
  draw(
    <Approval
      approval={{ ...ASKS, ...given }}
      onAnswer={(...answer) => Promise.resolve(answers.push(answer) > 0)}
    />
  );
  return answers;
}

describe('a question', () => {
  it('says why, what was seen, the frozen text, and which rules would be remembered', () => {
    asked();
    const text = host.textContent ?? '';
    expect(text).toContain('Why you are asked: it runs a program of the project');
    expect(text).toContain('starts a program, writes a file');
    expect(host.querySelector('pre')?.textContent).toBe('cargo test > log\\u202e');
    expect([...host.querySelectorAll('label')].map(label => label.textContent)).toEqual([
      'commands that begin with cargo test',
      'output of commands into files of the folder'
    ]);
  });

  it('describes each of its buttons by the text that is asked about', () => {
    asked();
    const pre = host.querySelector('pre');
    const described = [...host.querySelectorAll('button')].map(each => each.getAttribute('aria-describedby'));
    expect(described).toHaveLength(4);
    expect(described.every(ids => ids?.split(' ').includes(pre?.id ?? 'none'))).toBe(true);
  });

  it('takes no answer at once: what is pressed then was meant for something else', async () => {
    const answers = asked();
    expect(button('Allow once').getAttribute('aria-disabled')).toBe('true');
    await click('Allow once');
    expect(answers).toEqual([]);
    quietIsOver();
    expect(button('Allow once').getAttribute('aria-disabled')).toBe('false');
    await click('Allow once');
    expect(answers).toEqual([['a1', 'allow_once', '', null]]);
  });

  it('takes none either right after another one has gone, since it has moved', async () => {
    const answers: string[] = [];
    const one = (id: string) => (
      <Approval
        key={id}
        approval={{ ...ASKS, approval_id: id }}
        onAnswer={given => Promise.resolve(answers.push(given) > 0)}
      />
    );
    draw(
      <>
        {one('a1')}
        {one('a2')}
      </>
    );
    quietIsOver();
    draw(<>{one('a2')}</>);
    await click('Allow once');
    expect(answers).toEqual([]);
    quietIsOver();
    await click('Allow once');
    expect(answers).toEqual(['a2']);
  });

  it('remembers only the rules that are left checked, and with none of them nothing', async () => {
    const answers = asked();
    quietIsOver();
    await check('output of commands into files of the folder');
    await click('Allow for this session');
    expect(answers).toEqual([['a1', 'allow_session', '', ['cargo test']]]);
    draw(<></>);
    const more = asked();
    quietIsOver();
    await check('output of commands into files of the folder');
    await check('commands that begin with cargo test');
    await click('Always allow in this folder');
    expect(more).toEqual([]);
    await click('Allow once');
    expect(more).toEqual([['a1', 'allow_once', '', null]]);
  });

  it('is neither answered nor left by Escape, which would stop the turn', () => {
    const heard: string[] = [];
    const onKeyDown = (event: React.KeyboardEvent) => heard.push(event.key);
    draw(
      <div onKeyDown={onKeyDown}>
        <Approval approval={ASKS} onAnswer={() => Promise.resolve(heard.push('answer') > 0)} />
      </div>
    );
    act(() => {
      button('Allow once').dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }));
    });
    expect(heard).toEqual([]);
  });

  it('leaves the focus where somebody types', () => {
    draw(<textarea />);
    const field = host.querySelector('textarea');
    field?.focus();
    draw(
      <>
        <textarea />
        <Approval approval={ASKS} onAnswer={() => Promise.resolve(true)} />
      </>
    );
    quietIsOver();
    expect(document.activeElement).toBe(field);
  });

  it('says how long it waits only when that is soon', () => {
    const at = (minutes: number) => new Date(NOW + minutes * 60_000).toISOString();
    expect(expiryWords(at(30), NOW)).toBe('');
    expect(expiryWords(null, NOW)).toBe('');
    expect(expiryWords(at(9), NOW)).toBe('It waits for 9 min 0 s more; without an answer it is not done.');
    expect(expiryWords(at(0), NOW)).toBe('It is no longer waited for.');
  });

  it.each([
    [{ choice: 'allow_once' }, 'Allowed once'],
    [
      { choice: 'allow_always', by: 'user', granted: ['cargo test'] },
      'Always allowed in this folder: remembered: commands that begin with cargo test'
    ],
    [{ choice: 'reject_once', by: 'cli', text: 'read it' }, 'Rejected (by cli): read it'],
    [{ choice: 'reject_once', by: 'host', text: 'long words' }, 'Not answered in time, so it was not done'],
    [{ choice: 'reject_once', by: 'host' }, 'Not answered before the turn ended']
  ] as [Partial<ApprovalView>, string][])('that was answered says how: %j', (given, words) => {
    expect(answerWords({ ...ASKS, ...given })).toBe(words);
  });

  it('is listed with all that wait, and gone to', async () => {
    const call = (id: string): CallView => {
      const found = WHOLE.turns[0]?.items.find(item => item.type === 'call');
      if (found?.type !== 'call') {
        throw new Error('no call');
      }
      return { ...found, call_id: id, title: `Run ${id}`, approval: { ...ASKS, approval_id: id } };
    };
    const turn = WHOLE.turns[0];
    if (turn === undefined) {
      throw new Error('no turn');
    }
    const view = { ...emptyView('s'), turns: [{ ...turn, items: [call('one'), call('two')] }] };
    draw(
      <>
        <QuestionsLine questions={questionsOf(view)} onGo={id => goToQuestion(host, id)} />
        {['one', 'two'].map(id => (
          <CallCard key={id} call={call(id)} onAnswer={() => Promise.resolve(true)} />
        ))}
        <Announcer view={view} />
      </>
    );
    expect(host.querySelector('nav')?.textContent).toBe('2 questions wait:Run oneRun two');
    await click('Run two');
    expect((document.activeElement as HTMLElement).dataset.question).toBe('two');
    expect(host.querySelector('[role=log]')?.textContent).toBe(
      'Needs you: Run this shell command? (it runs a program of the project). 2 questions wait.'
    );
  });
});

it.each([
  ['cargo test', 'commands that begin with cargo test'],
  ['exact:sed -i s/a/b/ x', 'exactly this line: sed -i s/a/b/ x'],
  ['>', 'output of commands into files of the folder'],
  ['dir:/srv/out', 'the folder /srv/out with all that is in it'],
  ['file:/srv/a\u202e', 'the file /srv/a\\u202e'],
  ['tool:run_code', 'code in the kernel of this session'],
  ['tool:notes.add', 'the tool notes.add']
])('the rule %s allows: %s', (rule, words) => expect(ruleWords(rule)).toBe(words));

it.each([
  ['git push', 'commands with git push'],
  ['write:data', 'changing data'],
  ['read:.env', 'reading .env'],
  ['notes.*', 'every tool of notes'],
  ['tool:run_shell', 'the tool run_shell']
])('the rule %s forbids: %s', (rule, words) => expect(denyWords(rule)).toBe(words));

it('a mode says plainly whether what it runs is sandboxed', () => {
  const view = emptyView('s');
  expect(modeWords(view)).toContain('Not sandboxed.');
  expect(sandboxWords({ ...view, sandbox: true }).label).toBe('Sandboxed, no network');
  expect(sandboxWords({ ...view, sandbox: true, network: true }).label).toBe('Sandboxed, with network');
  expect(sandboxWords({ ...view, sandbox: true, place: 'attached' }).means).toContain('not behind that wall');
});

it('a refusal is told in words', () => {
  expect(refusalWords({ rule: 'mode:plan:write', why: '' })).toBe('Refused: mode Plan does not do this.');
  expect(refusalWords({ rule: 'denied', why: 'the rule `git push` forbids it' })).toBe(
    'Refused: the rule `git push` forbids it.'
  );
  expect(refusalWords({ rule: 'nobody_to_ask', why: 'it deletes' })).toBe(
    'Refused: nobody could be asked (it deletes).'
  );
});

it('what a hook denied is told with its reason', () => {
  const hook = {
    phase: 'PreToolUse',
    command: 'check.sh',
    decision: 'deny',
    reason: 'not on Fridays',
    duration: 0.1
  } as const;
  expect(hookWords(hook)).toBe('Denied by a hook: not on Fridays');
  expect(hookWords({ ...hook, decision: 'failed', reason: '' })).toBe('Denied because a hook failed');
});

describe('the permissions', () => {
  const rules: Permissions = {
    space: '/srv/demo',
    allow: [
      { rule: 'cargo test', everywhere: false, added_at: '', by: '', fault: '' },
      { rule: 'rm', everywhere: true, added_at: '', by: '', fault: 'it deletes' }
    ],
    deny: [{ rule: 'git push', everywhere: true, added_at: '', by: '', fault: '' }],
    session: ['tool:run_code'],
    broken: '',
    waiting: [],
    consents: []
  };

  function page(given: Partial<PermissionsPageProps> = {}): void {
    draw(
      <PermissionsPage
        view={{ ...emptyView('s'), space_root: 'demo' }}
        permissions={rules}
        sandbox={{ works: true, why: '' }}
        onMode={() => undefined}
        onSandbox={() => undefined}
        onAdd={() => Promise.resolve(true)}
        onRemove={() => undefined}
        onConsent={() => undefined}
        {...given}
      />
    );
  }

  it('are listed in words, with what has no effect, and removed', async () => {
    const removed: unknown[] = [];
    page({ onRemove: (...rule) => removed.push(rule) });
    expect(host.textContent).toContain('Commands that begin with cargo test in this folder');
    expect(host.textContent).toContain('Has no effect: it deletes.');
    expect(host.textContent).toContain('Code in the kernel of this session');
    await click('Remove the rule git push');
    expect(removed).toEqual([['git push', { deny: true, everywhere: true }]]);
    expect(document.activeElement?.getAttribute('aria-label')).toBe('Never allowed');
  });

  it('are added to, here or everywhere', async () => {
    const added: unknown[] = [];
    page({ onAdd: (...rule) => Promise.resolve(added.push(rule) > 0) });
    const field = host.querySelector<HTMLInputElement>('input[aria-label="Add a rule: Allowed unasked"]');
    await write(field, ' make test ');
    await act(async () => field?.form?.requestSubmit());
    expect(added).toEqual([['make test', { deny: false, everywhere: false }]]);
    expect(field?.value).toBe('');
  });

  it('say whether there is a sandbox, and why there can be none', async () => {
    const chosen: unknown[] = [];
    page({ onSandbox: given => chosen.push(given) });
    expect(host.querySelector('[aria-label=Sandbox] h3')?.textContent).toBe('Not sandboxed');
    await check('Run what this session runs in a sandbox');
    expect(chosen).toEqual([{ sandbox: true }]);
    page({ sandbox: { works: false, why: 'bwrap is not installed' } });
    expect(host.textContent).toContain('No sandbox works on this machine: bwrap is not installed');
    expect(host.querySelector('[aria-label=Sandbox] input')).toBeNull();
  });

  it('show the exact command that a folder asks to start, and let it be started or not any more', async () => {
    const answers: unknown[] = [];
    const waiting = {
      origin: '.claude/settings.json',
      command: './check.sh \u202e--fast',
      environ: { PERNIX_SPACE: '/srv/demo' },
      scripts: ['check.sh sha256:12ab'],
      digest: 'd1'
    };
    const given = {
      origin: '.pernix/hooks.json',
      command: 'ruff check',
      digest: 'd2',
      given_at: '',
      by: 'Ada'
    };
    page({
      permissions: { ...rules, waiting: [waiting], consents: [given] },
      onConsent: (...answer) => answers.push(answer)
    });
    const section = host.querySelector('[aria-label="Commands of this folder"]');
    expect(section?.querySelector('pre')?.textContent).toBe('./check.sh \\u202e--fast');
    expect(section?.textContent).toContain('Asked for by .claude/settings.json');
    expect(section?.textContent).toContain('Runs check.sh sha256:12ab');
    expect(section?.textContent).toContain('With PERNIX_SPACE=/srv/demo');
    await click('Allow to start: ./check.sh \\u202e--fast');
    expect(document.activeElement).toBe(section);
    await click('Do not start any more: ruff check');
    expect(answers).toEqual([
      ['d1', true],
      ['d2', false]
    ]);
    page();
    expect(host.querySelector('[aria-label="Commands of this folder"]')).toBeNull();
  });

  it('say loudly when the saved rules cannot be read', () => {
    page({ permissions: { ...rules, broken: '/x/everywhere.json is not JSON' } });
    expect(host.querySelector('[role=alert]')?.textContent).toContain('/x/everywhere.json is not JSON');
  });
});

describe('the files that a turn changed', () => {
  const file: ChangedFile = {
    path: 'a.py',
    before: 'x',
    after: 'y',
    now: 'y',
    turns: ['t1'],
    added_lines: 1,
    removed_lines: 0,
    undone: false,
    by_commands: true,
    diff: '--- a/a.py\n+++ b/a.py\n@@ -1 +1,2 @@\n a\n+b\n'
  };
  const other = { ...file, path: 'b.py', before: null, turns: ['t2'] };
  const turn: TurnView = { ...(WHOLE.turns[0] as TurnView), turn_id: 't1', kept: 'git', items: [] };

  async function opened(onUndo: React.ComponentProps<typeof FilesChanged>['onUndo']): Promise<void> {
    draw(<FilesChanged turn={turn} onFiles={() => Promise.resolve([file, other])} onUndo={onUndo} />);
    await click('Files changed');
  }

  it('are shown with their changes, and each is put back', async () => {
    const undone: unknown[] = [];
    await opened((...wanted) => {
      undone.push(wanted);
      return Promise.resolve([{ path: 'a.py', reason: '' }]);
    });
    expect(button('1 file changed').getAttribute('aria-expanded')).toBe('true');
    expect(host.querySelector('.jp-mod-added')?.textContent).toBe('+b\n');
    expect(host.textContent).not.toContain('b.py');
    await click('Put back: a.py');
    expect(undone).toEqual([['t1', ['a.py']]]);
    expect(host.querySelector('[role=status]')?.textContent).toBe('Put back: 1 file.');
  });

  it('of the whole session are put back after saying what can be and what cannot', async () => {
    const undone: unknown[] = [];
    await opened((...wanted) => {
      undone.push(wanted);
      return Promise.resolve([
        { path: 'a.py', reason: '' },
        { path: 'b.py', reason: 'it was changed by hand since' }
      ]);
    });
    await click("Undo all of this session's changes");
    expect(undone).toEqual([]);
    expect(host.textContent).toContain('b.py (it did not exist)');
    expect(host.textContent).toContain('Not put back: what code changed in the kernel');
    await click("Undo all of this session's changes");
    expect(undone).toEqual([[null, []]]);
    expect(host.querySelector('[role=status]')?.textContent).toBe(
      'Put back: 1 file. Left as it is: 1b.py: It was changed by hand since'
    );
  });

  it('are not offered where nothing was kept', () => {
    draw(
      <FilesChanged
        turn={{ ...turn, kept: null }}
        onFiles={() => Promise.resolve([])}
        onUndo={() => Promise.resolve([])}
      />
    );
    expect(host.textContent).toBe('');
  });
});
