/** One function for each route of `/pernix/api` that the panel uses. Each throws `RequestFailed` on any other status. */
import { send, type Transport } from './transport';
import type {
  ApprovalAnswer,
  ApprovalView,
  CellChangeView,
  ChangedFile,
  ChangesDecide,
  ConsentChange,
  Discovery,
  EndpointCreate,
  EndpointInfo,
  ExecutionView,
  FilesUndo,
  FileUndone,
  InputAnswer,
  InputView,
  LocalModel,
  LocalStart,
  LocalStatus,
  NotebookAttach,
  PageAnswer,
  PageState,
  PermissionChange,
  Permissions,
  RecordImport,
  SessionCreate,
  SessionPatch,
  SessionSummary,
  SessionView,
  TurnAccepted,
  TurnCreate,
  TurnPatch,
  Variables,
  Variable
} from './types.gen';

export interface ServerInfo {
  version: string;
  last_seq: number;
  /** Absent: not known. `why`: what keeps sandboxes from working here, '' when they do. */
  sandbox?: { works: boolean; why: string };
}

export interface EndpointList {
  endpoints: EndpointInfo[];
  discoveries: Discovery[];
}

const at = encodeURIComponent;

export class Client {
  constructor(private readonly _transport: Transport) {}

  info(): Promise<ServerInfo> {
    return this._json('GET', '', 200);
  }

  /** All of them, archived ones and workers too. */
  sessions(): Promise<SessionSummary[]> {
    return this._json('GET', 'sessions?archived=all&workers=true', 200);
  }

  session(id: string): Promise<SessionView> {
    return this._json('GET', `sessions/${at(id)}`, 200);
  }

  createSession(body: SessionCreate): Promise<SessionSummary> {
    return this._json('POST', 'sessions', 201, body);
  }

  patchSession(id: string, body: SessionPatch): Promise<SessionSummary> {
    return this._json('PATCH', `sessions/${at(id)}`, 200, body);
  }

  submitTurn(id: string, body: TurnCreate): Promise<TurnAccepted> {
    return this._json('POST', `sessions/${at(id)}/turns`, 202, body);
  }

  async cancelTurn(id: string, turnId: string): Promise<void> {
    await send(this._transport, 'POST', `sessions/${at(id)}/turns/${at(turnId)}/cancel`, 202, {});
  }

  /** A new text for a message that still waits. */
  async editTurn(id: string, turnId: string, body: TurnPatch): Promise<void> {
    await send(this._transport, 'PATCH', `sessions/${at(id)}/turns/${at(turnId)}`, 200, body);
  }

  async pause(id: string): Promise<void> {
    await send(this._transport, 'POST', `sessions/${at(id)}/pause`, 202, {});
  }

  /** Stop whatever runs: a turn, or a compaction between turns. */
  async stop(id: string): Promise<void> {
    await send(this._transport, 'POST', `sessions/${at(id)}/stop`, 202, {});
  }

  async compact(id: string): Promise<void> {
    await send(this._transport, 'POST', `sessions/${at(id)}/compact`, 202, {});
  }

  resume(id: string): Promise<TurnAccepted> {
    return this._json('POST', `sessions/${at(id)}/resume`, 202, {});
  }

  answer(approvalId: string, body: ApprovalAnswer): Promise<ApprovalView> {
    return this._json('POST', `approvals/${at(approvalId)}`, 200, body);
  }

  answerInput(inputId: string, body: InputAnswer): Promise<InputView> {
    return this._json('POST', `inputs/${at(inputId)}`, 200, body);
  }

  /** Let the session work in an open notebook and its kernel. */
  attach(id: string, body: NotebookAttach): Promise<SessionSummary> {
    return this._json('POST', `sessions/${at(id)}/notebook`, 200, body);
  }

  detach(id: string): Promise<SessionSummary> {
    return this._json('DELETE', `sessions/${at(id)}/notebook`, 200);
  }

  variables(id: string): Promise<Variables> {
    return this._json('GET', `sessions/${at(id)}/variables`, 200);
  }

  variable(id: string, name: string): Promise<Variable> {
    return this._json('GET', `sessions/${at(id)}/variables/${at(name)}`, 200);
  }

  /** Changes of a notebook's cells that nobody has decided about, whichever session made them. */
  notebookChanges(path: string): Promise<CellChangeView[]> {
    return this._json('GET', `notebooks/changes?path=${at(path)}`, 200);
  }

  /** What runs in a notebook's cells, or has run and does not stand there yet. */
  notebookExecutions(path: string): Promise<ExecutionView[]> {
    return this._json('GET', `notebooks/executions?path=${at(path)}`, 200);
  }

  decideChange(changeId: string, body: ChangesDecide): Promise<CellChangeView> {
    return this._json('POST', `changes/${at(changeId)}`, 200, body);
  }

  /** Keep or undo all changes of a turn that are open. */
  decideChanges(id: string, turnId: string, body: ChangesDecide): Promise<CellChangeView[]> {
    return this._json('POST', `sessions/${at(id)}/turns/${at(turnId)}/changes`, 200, body);
  }

  async putPage(body: PageState): Promise<void> {
    await send(this._transport, 'PUT', `pages/${at(body.page_id)}`, 204, body);
  }

  /** 409: the server waits no longer. */
  async answerPage(pageId: string, body: PageAnswer): Promise<void> {
    await send(this._transport, 'POST', `pages/${at(pageId)}/answers`, 204, body);
  }

  importRecord(body: RecordImport): Promise<SessionSummary> {
    return this._json('POST', 'records/import', 201, body);
  }

  /** Rules of the session's space, those for all, and the session's own. */
  permissions(id: string): Promise<Permissions> {
    return this._json('GET', `permissions?session_id=${at(id)}`, 200);
  }

  /** Save a rule. */
  addPermission(body: PermissionChange): Promise<Permissions> {
    return this._json('POST', 'permissions', 201, body);
  }

  /** Forget a saved rule. */
  removePermission(body: PermissionChange): Promise<Permissions> {
    return this._json('DELETE', 'permissions', 200, body);
  }

  /** Let a command of the space's configuration be started. 404: it does not wait, as its file is now. */
  giveConsent(body: ConsentChange): Promise<Permissions> {
    return this._json('POST', 'permissions/consents', 201, body);
  }

  /** Take that back. */
  takeConsent(body: ConsentChange): Promise<Permissions> {
    return this._json('DELETE', 'permissions/consents', 200, body);
  }

  /** The files that a session has changed, with their diffs. */
  files(id: string): Promise<ChangedFile[]> {
    return this._json('GET', `sessions/${at(id)}/files?diff=1`, 200);
  }

  /** Put files back; a file that is refused is no failure. */
  undoFiles(id: string, body: FilesUndo): Promise<FileUndone[]> {
    return this._json('POST', `sessions/${at(id)}/undo`, 200, body);
  }

  endpoints(): Promise<EndpointList> {
    return this._json('GET', 'endpoints', 200);
  }

  addEndpoint(body: EndpointCreate): Promise<EndpointInfo> {
    return this._json('POST', 'endpoints', 201, body);
  }

  async removeEndpoint(name: string): Promise<void> {
    await send(this._transport, 'DELETE', `endpoints/${at(name)}`, 204);
  }

  discover(): Promise<EndpointList> {
    return this._json('POST', 'endpoints/discover', 200, {});
  }

  probe(name: string): Promise<EndpointInfo> {
    return this._json('POST', `endpoints/${at(name)}/probe`, 200, {});
  }

  makeDefault(name: string): Promise<EndpointInfo> {
    return this._json('POST', `endpoints/${at(name)}/default`, 200, {});
  }

  tour(): Promise<SessionSummary> {
    return this._json('POST', 'tour', 201, {});
  }

  localStatus(): Promise<LocalStatus> {
    return this._json('GET', 'local', 200);
  }

  startLocal(body: LocalStart): Promise<LocalModel> {
    return this._json('POST', 'local', 202, body);
  }

  async stopLocal(): Promise<void> {
    await send(this._transport, 'DELETE', 'local', 204);
  }

  /** The full text of a result that was cut. */
  async sideFile(sessionId: string, name: string): Promise<string> {
    const response = await send(this._transport, 'GET', `side-files/${at(sessionId)}/${at(name)}`, 200);
    return response.text();
  }

  private async _json<T>(method: string, path: string, expected: number, body?: unknown): Promise<T> {
    const response = await send(this._transport, method, path, expected, body);
    return response.json();
  }
}
