import * as React from 'react';
import { Announcer } from '../../components/Announcer';
import { ConnectionBanner, TroubleBanner } from '../../components/Banner';
import { Composer } from '../../components/Composer';
import { Endpoints } from '../../components/Endpoints';
import { PERMISSIONS } from '../../components/gatewords';
import { Icon, IconButton } from '../../components/icons';
import { SessionHead } from '../../components/SessionHead';
import { SessionList } from '../../components/SessionList';
import { Transcript } from '../../components/Transcript';
import { WorkersContext } from '../../components/Worker';
import { beginningWords } from '../../components/words';
import type { EndpointsModel } from '../../model/endpoints';
import type { SessionModel } from '../../model/session';
import { linkedFile } from '../../rendering/guard';
import { useModel } from '../useModel';
import { PermissionsOf } from './permissions';
import { useSeeking, WaitingQuestions } from './questions';
import { useWorkers } from './workers';
import type { WorkspaceModel } from './model';

/** What the body asks the rest of JupyterLab to do. */
export interface WorkspaceActions {
  /** `path` below the server's root. */
  openFile: (path: string) => void;
  kernels: () => ReadonlyMap<string, string>;
  /** Lets a session work in the notebook that was used last. */
  attach: (sessionId: string) => void;
}

export interface BodyProps {
  model: WorkspaceModel;
  actions: WorkspaceActions;
}

export function Body(props: BodyProps): React.JSX.Element {
  const { model } = props;
  const { sessions, place } = model;
  useModel(model);
  useModel(sessions);
  useModel(model.endpoints);
  return (
    <div className="jp-Pernix-body">
      <Bar {...props} />
      <ConnectionBanner connection={sessions.connection} onWake={() => sessions.wake()} />
      <TroubleBanner
        trouble={sessions.trouble}
        onDismiss={() => sessions.dismiss()}
        onRetry={sessions.loaded ? undefined : () => sessions.wake()}
      />
      {place.at === 'sessions' && (
        <SessionList
          sessions={sessions.list}
          loaded={sessions.loaded}
          current={null}
          onOpen={id => model.open(id)}
          onRename={(id, title) => void sessions.patch(id, { title })}
          onArchive={(id, archived) => void sessions.patch(id, { archived })}
        />
      )}
      {place.at === 'models' && <Models model={model} endpoints={model.endpoints} />}
      {place.at === 'session' && (
        <Session key={place.sessionId} {...props} session={sessions.session(place.sessionId)} />
      )}
      {place.at === 'permissions' && (
        <PermissionsOf key={place.sessionId} model={model} session={sessions.session(place.sessionId)} />
      )}
    </div>
  );
}

function Bar(props: BodyProps): React.JSX.Element {
  const { model } = props;
  const { place, sessions } = model;
  const elsewhere = sessions.questions - (place.at === 'session' ? sessions.questionsIn(place.sessionId) : 0);
  const back = place.at === 'permissions';
  return (
    <div className="jp-Pernix-bar" role="toolbar" aria-label="Pernix">
      {place.at === 'sessions' ? (
        <span className="jp-Pernix-brand">Sessions</span>
      ) : (
        <button
          type="button"
          className="jp-Pernix-back"
          onClick={() => (back ? model.leavePermissions() : model.showSessions())}
        >
          <Icon name="back" />
          {back ? PERMISSIONS.back : 'Sessions'}
          {elsewhere > 0 && (
            <span className="jp-Pernix-chip jp-mod-asks" title="Other sessions need you">
              {elsewhere}
            </span>
          )}
        </button>
      )}
      <span className="jp-Pernix-spacer" />
      <IconButton
        icon="models"
        label="Models"
        pressed={place.at === 'models'}
        onClick={() => (place.at === 'models' ? model.leaveModels() : model.showModels())}
      />
      <IconButton icon="add" label="New session" onClick={() => void model.create()} />
    </div>
  );
}

function Models(props: { model: WorkspaceModel; endpoints: EndpointsModel }): React.JSX.Element {
  const { model, endpoints } = props;
  return (
    <div className="jp-Pernix-page">
      <TroubleBanner trouble={endpoints.trouble} onDismiss={() => endpoints.dismiss()} />
      <Endpoints
        endpoints={endpoints.endpoints}
        discoveries={endpoints.discoveries}
        local={endpoints.local}
        loaded={endpoints.loaded}
        busy={endpoints.busy}
        onTour={() => void model.tour()}
        onDiscover={() => void endpoints.discover()}
        onAdd={body => endpoints.add(body)}
        onRemove={name => void endpoints.remove(name)}
        onProbe={name => void endpoints.probe(name)}
        onDefault={name => void endpoints.makeDefault(name)}
        onStartLocal={path => void endpoints.startLocal(path)}
        onStopLocal={() => void endpoints.stopLocal()}
      />
    </div>
  );
}

function Session(props: BodyProps & { session: SessionModel }): React.JSX.Element {
  const { model, actions, session } = props;
  useModel(session);
  const { view } = session;
  const workers = useWorkers(model, session);
  const endpoint = model.endpoints.of(view.endpoint);
  const workerAsks = model.sessions.workerAsks(view.session_id);
  const onAnswer = React.useCallback(
    (...answer: Parameters<SessionModel['answer']>) => session.answer(...answer),
    [session]
  );
  const onInput = React.useCallback(
    (...answer: Parameters<SessionModel['answerInput']>) => session.answerInput(...answer),
    [session]
  );
  const onDecide = React.useCallback(
    (...decision: Parameters<SessionModel['decideChange']>) => session.decideChange(...decision),
    [session]
  );
  const onDecideAll = React.useCallback(
    (...decision: Parameters<SessionModel['decideChanges']>) => session.decideChanges(...decision),
    [session]
  );
  const onFiles = React.useCallback(() => session.files(), [session]);
  const onUndo = React.useCallback(
    (...wanted: Parameters<SessionModel['undo']>) => session.undo(...wanted),
    [session]
  );
  const page = React.useRef<HTMLDivElement>(null);
  useSeeking(model, session, page);
  const onVariables = React.useCallback(() => session.variables(), [session]);
  const folder = view.space_root;
  const onOpenFile = React.useCallback(
    (path: string) => actions.openFile(folder === '' ? path : `${folder}/${path}`),
    [actions, folder]
  );
  const onReadSideFile = React.useCallback((name: string) => session.sideFile(name), [session]);
  const trouble = (
    <TroubleBanner
      trouble={session.trouble}
      onDismiss={() => session.dismiss()}
      onRetry={session.loaded ? undefined : () => void session.reload()}
    />
  );
  if (!session.loaded) {
    return (
      <>
        {trouble}
        <p className="jp-Pernix-empty">{session.trouble === null ? 'Reading the session…' : ''}</p>
      </>
    );
  }
  const onClick = (event: React.MouseEvent) => {
    const anchor = event.target instanceof Element ? event.target.closest('a') : null;
    const path = linkedFile(anchor?.getAttribute('href') ?? '');
    if (path !== '') {
      event.preventDefault();
      onOpenFile(path);
    }
  };
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.key === 'Escape' && session.running && !event.nativeEvent.isComposing) {
      event.preventDefault();
      void session.stop();
    }
  };
  return (
    <div className="jp-Pernix-session" onKeyDown={onKeyDown} onClick={onClick} ref={page}>
      <SessionHead
        view={view}
        kernels={actions.kernels()}
        onRename={title => void session.configure({ title })}
        onKernel={name => void session.configure({ kernel_name: name })}
        onOpenRecord={() => actions.openFile(view.record_path)}
        onOpenNotebook={actions.openFile}
        onAttach={() => actions.attach(view.session_id)}
        onDetach={() => void session.detach()}
        endpoint={endpoint}
        workerAsks={workerAsks}
        parent={view.parent === null ? undefined : model.sessions.summary(view.parent)}
        onOpenParent={() => view.parent !== null && model.open(view.parent)}
        onPermissions={() => model.showPermissions()}
      />
      <WorkersContext.Provider value={workers}>
        <Transcript
          view={view}
          drafts={model.sessions.drafts(view.session_id)}
          onResume={() => void session.resume()}
          onAnswer={onAnswer}
          onInput={onInput}
          onDecide={onDecide}
          onDecideAll={onDecideAll}
          onFiles={onFiles}
          onUndo={onUndo}
          onOpenNotebook={actions.openFile}
          onOpenFile={onOpenFile}
          onReadSideFile={onReadSideFile}
        >
          <Beginning model={model} notebook={view.notebook?.path ?? ''} />
        </Transcript>
      </WorkersContext.Provider>
      <Announcer view={view} workerAsks={workerAsks} />
      {trouble}
      <WaitingQuestions model={model} session={session} page={page} />
      <Composer
        view={view}
        queued={session.queued}
        endpoints={model.endpoints.endpoints}
        draft={model.draft(view.session_id)}
        focus={model.focus}
        onDraft={text => model.keepDraft(view.session_id, text)}
        onSend={(text, mentions) => session.send(text, mentions)}
        onVariables={onVariables}
        onStop={() => void session.stop()}
        pausing={session.pausing}
        onPause={() => void session.pause()}
        onResume={() => void session.resume()}
        onEdit={(turnId, text) => session.edit(turnId, text)}
        onCompact={() => void session.compact()}
        onWithdraw={turnId => void session.withdraw(turnId)}
        onMode={mode => void session.configure({ mode })}
        onEndpoint={endpoint => void session.configure({ endpoint })}
      />
    </div>
  );
}

/** What an empty session shows. */
function Beginning(props: { model: WorkspaceModel; notebook: string }): React.JSX.Element {
  const { model } = props;
  const { endpoints } = model;
  if (endpoints.loaded && endpoints.usable.length === 0) {
    return (
      <div className="jp-Pernix-empty">
        <p>There is no model yet.</p>
        <div className="jp-Pernix-choices jp-mod-centre">
          <button type="button" className="jp-Pernix-button jp-mod-accept" onClick={() => model.showModels()}>
            Bring a model
          </button>
          <button type="button" className="jp-Pernix-button" onClick={() => void model.tour()}>
            Take the tour
          </button>
        </div>
      </div>
    );
  }
  return (
    <div className="jp-Pernix-empty">
      <p>{beginningWords(props.notebook)}</p>
      <p className="jp-Pernix-dim">Everything it does is kept here and in a notebook.</p>
    </div>
  );
}
