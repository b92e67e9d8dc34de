/** What the gate says to people: questions, rules, sandbox, files put back. Pure. */
import type {
  ApprovalChoice,
  ApprovalView,
  CallView,
  ChangedFile,
  FileUndone,
  HookView,
  Mode,
  SessionView,
  TurnView
} from '../api/types.gen';
import { duration, MODES, plain } from './words';

export const CHOICES: Record<ApprovalChoice, { label: string; past: string; means: string }> = {
  allow_once: { label: 'Allow once', past: 'Allowed once', means: 'Only this call' },
  allow_session: {
    label: 'Allow for this session',
    past: 'Allowed for this session',
    means: 'This call, and what is listed above, as long as this session lasts'
  },
  allow_always: {
    label: 'Always allow in this folder',
    past: 'Always allowed in this folder',
    means: 'This call, and what is listed above, in every session of this folder'
  },
  reject_once: { label: 'Reject', past: 'Rejected', means: 'The agent goes on without it' },
  reject_always: { label: 'Always reject', past: 'Rejected always', means: 'The agent goes on without it' }
};

export const ASKED = {
  why: 'Why you are asked:',
  effects: 'Seen in it, as advice:',
  text: 'What it is about, in full',
  remember: 'Remembered for this session, or always:',
  rememberSession: 'Remembered for this session:',
  nothing: 'Choose at least one of the rules above',
  instead: 'What to do instead',
  insteadMeans: 'What to do instead (goes with Reject)'
} as const;

/** Seconds before its end from which on a question says how long it waits. */
const SOON = 600;

/** How long a question still waits; '' while that is long. `now` in milliseconds. */
export function expiryWords(expires: string | null, now: number): string {
  if (expires === null) {
    return '';
  }
  const left = Math.ceil((Date.parse(expires) - now) / 1000);
  if (!(left < SOON)) {
    return '';
  }
  return left <= 0
    ? 'It is no longer waited for.'
    : `It waits for ${duration(left)} more; without an answer it is not done.`;
}

/** What a saved or offered rule allows. */
export function ruleWords(rule: string): string {
  const [kind, rest] = parts(rule);
  switch (kind) {
    case 'exact':
      return `exactly this line: ${rest}`;
    case 'dir':
      return `the folder ${rest} with all that is in it`;
    case 'file':
      return `the file ${rest}`;
    case 'tool':
      return rest === 'run_code' ? 'code in the kernel of this session' : `the tool ${rest}`;
    default:
      return rule.trim() === '>'
        ? 'output of commands into files of the folder'
        : `commands that begin with ${plain(rule)}`;
  }
}

/** What a deny rule forbids. */
export function denyWords(rule: string): string {
  const [kind, rest] = parts(rule);
  switch (kind) {
    case 'write':
      return `changing ${rest}`;
    case 'read':
      return `reading ${rest}`;
    case 'exact':
    case 'dir':
    case 'file':
    case 'tool':
      return ruleWords(rule);
    default:
      return /^\S+\.\*$/.test(rule)
        ? `every tool of ${plain(rule.slice(0, -2))}`
        : `commands with ${plain(rule)}`;
  }
}

function parts(rule: string): [kind: string, rest: string] {
  const colon = rule.indexOf(':');
  return colon < 0 ? ['', plain(rule)] : [rule.slice(0, colon), plain(rule.slice(colon + 1).trim())];
}

/** How a question was answered, by whom, and what is remembered of it. */
export function answerWords(approval: ApprovalView): string {
  if (approval.choice === null) {
    return 'Nobody answered';
  }
  if (approval.by === 'host') {
    return approval.text === ''
      ? 'Not answered before the turn ended'
      : 'Not answered in time, so it was not done';
  }
  const by = ['', 'panel', 'user'].includes(approval.by) ? '' : ` (by ${plain(approval.by)})`;
  const remembered = approval.granted.map(ruleWords).join('; ');
  const said = approval.text || (remembered && `remembered: ${remembered}`);
  return `${CHOICES[approval.choice].past}${by}${said && `: ${said}`}`;
}

export function waitingWords(count: number): string {
  return count === 1 ? '1 question waits:' : `${count} questions wait:`;
}

const HOOKS: Record<HookView['decision'], string> = {
  allow: 'A hook had nothing against it',
  deny: 'Denied by a hook',
  ask: 'A hook wants you to be asked',
  failed: 'Denied because a hook failed'
};

export function hookWords(hook: HookView): string {
  const what =
    hook.phase === 'PostToolUse' && hook.decision !== 'allow'
      ? 'A hook says afterwards'
      : HOOKS[hook.decision];
  return hook.reason === '' ? what : `${what}: ${plain(hook.reason)}`;
}

/** Why a call was refused, for the user: by what was found in it, or by the name of the rule. */
export function refusalWords(call: Pick<CallView, 'rule' | 'why'>): string {
  const mode = /^mode:(\w+):/.exec(call.rule)?.[1];
  const label = mode !== undefined && mode in MODES ? MODES[mode as Mode].label : '';
  if (label !== '') {
    return `Refused: mode ${label} does not do this.`;
  }
  const why =
    call.rule === 'nobody_to_ask'
      ? `nobody could be asked${call.why && ` (${plain(call.why)})`}`
      : plain(call.why || call.rule);
  return why === '' ? 'Refused.' : `Refused: ${why}.`;
}

export interface SandboxWords {
  label: string;
  means: string;
}

/** Whether what a session runs is behind a wall. */
export function sandboxWords(view: Pick<SessionView, 'sandbox' | 'network' | 'place'>): SandboxWords {
  if (!view.sandbox) {
    return {
      label: 'Not sandboxed',
      means:
        'Code and commands run with all your rights on this machine; the rules decide what you are asked about.'
    };
  }
  const kernel =
    view.place === 'own' ? '' : ' Its code runs in a kernel of yours, which is not behind that wall.';
  return view.network
    ? {
        label: 'Sandboxed, with network',
        means: `What it runs can write to its folder only, and reach the network.${kernel}`
      }
    : {
        label: 'Sandboxed, no network',
        means: `What it runs can write to its folder only, and reach nothing outside of this machine.${kernel}`
      };
}

/** A mode with what guards it. */
export function modeWords(view: Pick<SessionView, 'mode' | 'sandbox' | 'network' | 'place'>): string {
  return `${MODES[view.mode].means}. ${sandboxWords(view).label}.`;
}

export const PERMISSIONS = {
  title: 'Permissions',
  back: 'Back to the session',
  none: 'None yet.',
  unasked: 'Allowed unasked',
  never: 'Never allowed',
  session: 'For this session only',
  sessionEnds: 'They end with the session.',
  everywhere: 'everywhere',
  here: 'in this folder',
  add: 'Add a rule',
  allowExample: 'cargo test',
  denyExample: 'git push, write:data, read:.env',
  works: 'Run what this session runs in a sandbox',
  network: 'Let it reach the network',
  unknown: 'Whether a sandbox works here is not known.'
} as const;

export const UNDO = {
  one: 'Put back',
  turn: 'Put back all of this turn',
  session: "Undo all of this session's changes",
  cancel: 'Leave them as they are',
  before: 'They become what they were before the session changed them:',
  beforeTurn: 'They become what they were before this turn, later changes of the agent included:',
  not: 'Not put back: what code changed in the kernel, and what was done outside of the folder, on the network or in databases.',
  byCommands: 'by a command or a cell',
  since: 'changed by somebody else since',
  left: 'changed by somebody else since, so it is left as it is',
  gone: 'it did not exist',
  undone: 'put back'
} as const;

export function filesWords(count: number): string {
  return count === 1 ? '1 file changed' : `${count} files changed`;
}

/** The files that the calls of a turn are known to have changed, each once. */
export function filesOf(turn: TurnView): string[] {
  return [
    ...new Set(turn.items.flatMap(item => (item.type === 'call' ? item.files.map(file => file.path) : [])))
  ];
}

/** What became of an undo, in one line for all that went well. */
export function undoneWords(done: readonly FileUndone[]): string {
  const back = done.filter(file => file.reason === '').length;
  const refused = done.length - back;
  const said = back === 0 ? 'Nothing was put back' : `Put back: ${back === 1 ? '1 file' : `${back} files`}`;
  return refused === 0 ? `${said}.` : `${said}. Left as ${refused === 1 ? 'it is' : 'they are'}: ${refused}`;
}

/** Whether the file is no longer as the session left it. */
export function changedSince(file: Pick<ChangedFile, 'after' | 'now' | 'undone'>): boolean {
  return !file.undone && file.now !== file.after;
}

/** What a file was and is, where that is more than another text. */
export function fileKind(file: Pick<ChangedFile, 'before' | 'now'>): string {
  return file.before === null && file.now !== null
    ? 'new'
    : file.now === null && file.before !== null
      ? 'deleted'
      : '';
}
