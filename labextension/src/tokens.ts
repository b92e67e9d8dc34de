import { Token } from '@lumino/coreutils';
import type { Renderers } from './components/renderers';
import type { SessionsModel } from './model/sessions';

/** The sessions of this server, kept current by one stream for the whole tab. */
export interface ISessions {
  readonly model: SessionsModel;
}

export const ISessions = new Token<ISessions>(
  'jupyter_pernix:ISessions',
  'The sessions of the agent workspace.'
);

/** How components draw Markdown, code and outputs with JupyterLab's means. */
export interface IRenderers {
  readonly renderers: Renderers;
}

export const IRenderers = new Token<IRenderers>(
  'jupyter_pernix:IRenderers',
  'Draws what agents wrote and what their code printed, untrusted.'
);

/** What can be asked of the panel. */
export interface IWorkspace {
  /** Bring the panel into sight. */
  show(): void;
  /** Show a session. */
  open(sessionId: string): void;
  create(): Promise<void>;
  tour(): Promise<void>;
  showModels(): void;
  /** Show what the session in the panel may do. */
  showPermissions(): void;
  /** Whether the panel shows a session. */
  hasSession(): boolean;
  /** Go to the next question that waits for an answer; false: none waits. */
  seekQuestion(): boolean;
  /** Stop the turn of the session that the panel shows. */
  stop(): Promise<void>;
  /** Hold that turn after the step that it is in. */
  pause(): Promise<void>;
  /** Go on with it, or take up the work of one that was interrupted. */
  resume(): Promise<void>;
  /** Make that session's model input shorter. */
  compact(): Promise<void>;
  /** Path of the run notebook of the session that the panel shows, '' when it shows none. */
  recordPath(): string;
  /** Path of the notebook that this session is attached to, '' when there is none. */
  notebookPath(): string;
}

export const IWorkspace = new Token<IWorkspace>(
  'jupyter_pernix:IWorkspace',
  'The panel of the agent workspace.'
);
