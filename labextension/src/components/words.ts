/** The fixed words of the product for people. Pure. */
import type {
  CallStatus,
  CallView,
  CellChangeView,
  CellOp,
  ContextItem,
  ContextKind,
  EndpointInfo,
  ExecutionView,
  InputView,
  Mention,
  Mode,
  NotebookOwner,
  SessionState,
  SessionView,
  StepView,
  TerminalCode,
  TurnView,
  Usage,
  Variable,
  Waiting
} from '../api/types.gen';

/** `busy`: something goes on; `asks`: it waits for the user; `rest`: nothing goes on. */
export type Tone = 'busy' | 'asks' | 'rest';

export const STATES: Record<SessionState, { label: string; tone: Tone }> = {
  idle_ready: { label: 'Ready', tone: 'rest' },
  scouting: { label: 'Planning', tone: 'busy' },
  processing: { label: 'Working', tone: 'busy' },
  pause_requested: { label: 'Pausing after this step', tone: 'busy' },
  paused: { label: 'Paused', tone: 'asks' },
  awaiting_user: { label: 'Needs you', tone: 'asks' },
  awaiting_workers: { label: 'Waiting for workers', tone: 'busy' },
  compacting: { label: 'Making room in the context', tone: 'busy' },
  finalizing: { label: 'Finishing', tone: 'busy' },
  cancelling: { label: 'Stopping', tone: 'busy' }
};

/** What a session does, in words. A wait says by itself what it is for. */
export function stateWords(view: Pick<SessionView, 'state' | 'waiting'>): string {
  return view.waiting === null ? STATES[view.state].label : 'Waiting to ask again';
}

/** Whole seconds that a wait still lasts, and none once it is over. `now` in milliseconds. */
export function secondsLeft(waiting: Waiting, now: number): number {
  const over = secondsBetween(waiting.since, now);
  return Math.round(Math.min(waiting.seconds, Math.max(0, waiting.seconds - over)));
}

/** How a turn ended. */
export function endWords(turn: TurnView): string {
  if (turn.code === null) {
    return '';
  }
  return turn.code === 'cancelled' && turn.started_at === null ? 'Withdrawn' : CODES[turn.code];
}

export const CODES: Record<TerminalCode, string> = {
  answered: 'Answered',
  cancelled: 'Stopped',
  interrupted: 'Interrupted',
  stuck: 'Stuck',
  budget_rounds: 'Out of rounds',
  budget_tokens: 'Out of tokens',
  budget_time: 'Out of time',
  budget_cost: 'Out of money',
  budget_lines: 'Too many changed lines',
  no_model: 'No model',
  model_failed: 'The model failed',
  context_overflow: 'The context is full',
  internal_error: 'Internal error'
};

/** Endings after which the same work can be taken up again. */
export const CAN_GO_ON: ReadonlySet<TerminalCode> = new Set([
  'interrupted',
  'budget_rounds',
  'budget_tokens',
  'budget_time',
  'budget_cost',
  'budget_lines',
  'model_failed'
]);

export const MODES: Record<Mode, { label: string; means: string }> = {
  ask: { label: 'Ask', means: 'Reads and answers; runs only commands that just read' },
  plan: { label: 'Plan', means: 'Reads and makes a plan; runs only commands that just read' },
  edit: {
    label: 'Edit',
    means: 'Edits files in its folder; asks before it runs code, and commands that do more than read'
  },
  auto: {
    label: 'Auto',
    means: 'Edits and runs in its folder; asks before what deletes, publishes or reaches further'
  }
};

export const STATUSES: Record<CallStatus, string> = {
  pending: 'Waiting',
  in_progress: 'Running',
  completed: 'Done',
  failed: 'Failed',
  cancelled: 'Cancelled',
  unknown: 'May have run'
};

/** A line that running code asks for. */
export const INPUT = {
  asks: 'The running code asks for a line',
  asksPassword: 'The running code asks for a password',
  send: 'Send',
  refuse: 'Do not answer',
  refuseMeans: 'The code is interrupted',
  lines: 'Lines that the code asked for',
  hidden: 'It is sent to the code and kept nowhere'
} as const;

/** What became of a line that running code asked for; '' while it waits. */
export function inputWords(input: InputView): string {
  if (input.by === '') {
    return '';
  }
  if (input.by === 'host') {
    return 'The code ended before this was answered';
  }
  if (input.password) {
    return 'A password was asked for; what was typed is not kept';
  }
  const by = ['panel', 'user'].includes(input.by) ? '' : ` (by ${input.by})`;
  return input.text === null ? `Not answered${by}` : `Answered${by}: ${plain(input.text)}`;
}

export const CHANGE_STATUSES: Record<CellChangeView['status'], string> = {
  requested: 'Under way',
  made: 'Changed',
  refused: 'Not changed',
  kept: 'Kept',
  undone: 'Undone'
};

export const CHANGE_OPS: Record<CellOp, string> = {
  insert: 'New cell',
  edit: 'Cell edited',
  delete: 'Cell deleted',
  move: 'Cell moved'
};

export const CHANGES = {
  keep: 'Keep',
  undo: 'Undo',
  keepMeans: 'Leave the cell as it is now',
  undoMeans: 'Put the source and the outputs of the cell back; what ran in the kernel stays as it is',
  keepAll: 'Keep all',
  undoAll: 'Undo all',
  diff: 'The change',
  left: '…'
} as const;

/** How many changes of a turn wait for a decision. */
export function openChangesWords(open: number): string {
  return open === 1 ? '1 change of a cell' : `${open} changes of cells`;
}

/** Where a change was made. */
export const OWNERS: Record<NotebookOwner, string> = {
  page: 'in the open notebook',
  ydoc: 'in the shared notebook',
  file: 'in the file'
};

/** Where a cell stands now or stood before; `behind`: the id of the cell above it. */
export function placeWords(behind: string | null): string {
  return behind === null ? 'nowhere' : behind === '' ? 'at the top' : 'below another cell';
}

/** The cell whose code runs, as its reader knows it; '' for code beside any notebook. */
export function cellWords(
  execution: Pick<ExecutionView, 'cell_id' | 'notebook' | 'execution_count'>
): string {
  const number = execution.execution_count === null ? '' : ` [${execution.execution_count}]`;
  return execution.cell_id === '' ? '' : `Cell${number}`;
}

/** The first line of a text that says something, in short; '' when there is none. */
export function firstLine(source: string): string {
  const line = plain(
    source
      .split('\n')
      .find(one => one.trim() !== '')
      ?.trim() ?? ''
  );
  return line.length > 60 ? `${line.slice(0, 59)}…` : line;
}

/** What a call is; with the beginning of the one cell that it runs. */
export function callTitle(call: Pick<CallView, 'title' | 'tool' | 'execution' | 'earlier'>): string {
  const title = plain(call.title || call.tool);
  const line =
    call.tool === 'run_cells' && call.earlier.length === 0 ? firstLine(call.execution?.code ?? '') : '';
  return line === '' ? title : `${title}: ${line}`;
}

export const NOT_MIRRORED = 'The notebook does not show these outputs yet.';

export const TOLD = {
  label: 'The model was told:',
  means: 'What the model was told beside the message'
} as const;

const CONTEXTS: Record<ContextKind, string> = {
  environment: 'Environment',
  inventory: 'Variables',
  files: 'Files',
  variable: 'Variable',
  cell: 'Cell',
  kernel: 'Kernel',
  notebook: 'Notebook'
};

export function contextWords(item: Pick<ContextItem, 'kind' | 'name'>): string {
  const name = plain(item.name);
  if (item.kind === 'variable' && name !== '') {
    return `@${name}`;
  }
  return item.kind === 'cell' && name !== '' ? `Cell ${name}` : CONTEXTS[item.kind];
}

export function mentionWords(mention: Mention): string {
  return mention.kind === 'variable' ? `@${plain(mention.name)}` : `Cell ${plain(mention.name)}`;
}

export const MENTIONS = 'Variables of the kernel';

/** What a variable is, in short. */
export function variableWords(variable: Variable): string {
  const size =
    variable.shape !== null
      ? variable.shape.join(' × ')
      : variable.length !== null
        ? `${variable.length} items`
        : '';
  return [plain(variable.type), size].filter(words => words !== '').join(' · ');
}

/** Whether the model that answered could see is not known here. */
export function picturesWords(count: number): string {
  return count === 1 ? 'The picture, for a model that sees' : `The ${count} pictures, for a model that sees`;
}

export const PICTURE = {
  unknown: 'A picture of a kind that is not shown here',
  larger: 'Show it larger',
  smaller: 'Show it smaller'
} as const;

export const NOTEBOOK = {
  works: 'Works in this notebook and its kernel',
  open: 'Open the notebook',
  detach: 'Detach from the notebook',
  attach: 'Work in the open notebook',
  none: 'Open a notebook first; the session works in the one that was used last.'
} as const;

/** What an empty session is told to be; `notebook`: the one that it is attached to, or ''. */
export function beginningWords(notebook: string): string {
  const where =
    notebook === ''
      ? 'It reads, edits and runs in this folder, in a kernel of its own.'
      : `It works in ${baseName(notebook)} and its kernel: it reads, edits and runs cells there.`;
  return `Say what should be done. ${where}`;
}

/** The buttons on a piece of code. */
export const CODE = {
  copy: 'Copy code',
  copied: 'Copied',
  insert: 'Insert below the active cell'
} as const;

/** The last part of a path. */
export function baseName(path: string): string {
  return plain(path.split('/').pop() ?? path);
}

/** The words that came with a picture, for those who cannot see it. */
export function pictureWords(plain: unknown): string {
  const text = Array.isArray(plain) ? plain.join('') : typeof plain === 'string' ? plain : '';
  return text.replace(/^<(.*)>$/s, '$1').slice(0, 500) || 'Picture without a description';
}

/** As a sentence begins, unless it begins with a command. */
export function sentence(text: string): string {
  return /^(pip|jupyter|http)\b/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1);
}

export function endpointWords(endpoint: EndpointInfo): string {
  if (endpoint.kind === 'tour') {
    return 'Recorded tour (not a model)';
  }
  return endpoint.model ? `${endpoint.model} · ${endpoint.name}` : endpoint.name;
}

export function duration(seconds: number): string {
  if (seconds < 1) {
    return `${Math.round(seconds * 1000)} ms`;
  }
  if (seconds < 10 && !Number.isInteger(seconds)) {
    return `${seconds.toFixed(1)} s`;
  }
  if (seconds < 60) {
    return `${Math.round(seconds)} s`;
  }
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) {
    return `${minutes} min ${Math.floor(seconds % 60)} s`;
  }
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function secondsBetween(from: string | null, to: string | number | null): number {
  if (from === null || to === null) {
    return 0;
  }
  const end = typeof to === 'number' ? to : Date.parse(to);
  return Math.max(0, (end - Date.parse(from)) / 1000);
}

/** 8192 → 8.2k */
export function count(value: number): string {
  if (value < 1000) {
    return String(value);
  }
  return value < 1_000_000 ? `${trim(value / 1000)}k` : `${trim(value / 1_000_000)}M`;
}

export function bytes(value: number): string {
  if (value < 1e6) {
    return `${Math.ceil(value / 1e3)} kB`;
  }
  return value < 1e9 ? `${Math.round(value / 1e6)} MB` : `${trim(value / 1e9)} GB`;
}

function trim(value: number): string {
  return value.toFixed(1).replace(/\.0$/, '');
}

export function usageWords(usage: Usage): string {
  if (usage.prompt_tokens === null && usage.completion_tokens === null) {
    return '';
  }
  const cached = usage.cached_tokens ? ` (${count(usage.cached_tokens)} cached)` : '';
  return `${count(usage.prompt_tokens ?? 0)} in${cached}, ${count(usage.completion_tokens ?? 0)} out`;
}

/** An amount of money; its currency is that of the endpoint's price. */
export function money(amount: number): string {
  return String(Number(amount.toPrecision(3)));
}

/** What a turn cost; `null`: a step of it has no price. */
export function costWords(cost: number | null): string {
  return cost === null ? 'unpriced' : `cost ${money(cost)}`;
}

/** How much of its requests repeated the one before, which an endpoint's cache needs not read again; '' when none had one before. */
export function prefixWords(steps: readonly StepView[]): string {
  const shares = steps.filter(step => step.purpose === 'act').flatMap(step => step.prefix_share ?? []);
  if (shares.length === 0) {
    return '';
  }
  // Rounded down: all of it is said only of all of it.
  return `${Math.floor((100 * shares.reduce((sum, share) => sum + share, 0)) / shares.length)}% prefix kept`;
}

export function clockTime(iso: string): string {
  return new Date(iso).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
}

/** `now` in milliseconds. */
export function ago(iso: string, now: number): string {
  const seconds = secondsBetween(iso, now);
  if (seconds < 60) {
    return 'just now';
  }
  if (seconds < 3600) {
    return `${Math.floor(seconds / 60)} min ago`;
  }
  if (seconds < 86_400) {
    return `${Math.floor(seconds / 3600)} h ago`;
  }
  return new Date(iso).toLocaleDateString();
}

/** Control and direction characters made visible, so that a name cannot pretend to be another. */
export function plain(text: string): string {
  return text.replace(
    /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, // eslint-disable-line no-control-regex
    character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  );
}

/** `plain` for a text of several lines. */
export function plainLines(text: string): string {
  return text.split('\n').map(plain).join('\n');
}
