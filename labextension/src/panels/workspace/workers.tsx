import * as React from 'react';
import { CallCard } from '../../components/CallCard';
import type { Workers } from '../../components/Worker';
import { openApprovals, openInputs } from '../../model/reduce';
import type { SessionModel } from '../../model/session';
import { useModel } from '../useModel';
import type { WorkspaceModel } from './model';

/** What the cards of a session are told of its workers; a new object whenever something about one of them changed. */
export function useWorkers(model: WorkspaceModel, session: SessionModel): Workers {
  const { sessions } = model;
  const news = sessions.list
    .filter(entry => entry.parent === session.sessionId)
    .map(entry => `${entry.session_id} ${entry.state} ${entry.open_approvals}`)
    .join();
  const Questions = React.useMemo(
    () =>
      function WorkerQuestions({ workerId }: { workerId: string }): React.JSX.Element | null {
        const asks = (sessions.summary(workerId)?.open_approvals ?? 0) > 0;
        return asks ? <AskedBy session={sessions.session(workerId)} /> : null;
      },
    [sessions]
  );
  // `news` changes when a summary does: whoever shows one is drawn anew.
  return React.useMemo(
    () => ({
      summary: id => sessions.summary(id),
      open: id => model.open(id),
      Questions
    }),
    [model, sessions, Questions, news] // eslint-disable-line react-hooks/exhaustive-deps
  );
}

/** The open questions of another session, answered from here. */
function AskedBy(props: { session: SessionModel }): React.JSX.Element {
  const { session } = props;
  useModel(session);
  const onAnswer = React.useCallback(
    (...answer: Parameters<SessionModel['answer']>) => session.answer(...answer),
    [session]
  );
  const onInput = React.useCallback(
    (...answer: Parameters<SessionModel['answerInput']>) => session.answerInput(...answer),
    [session]
  );
  return (
    <>
      {[...openApprovals(session.view), ...openInputs(session.view)].map(call => (
        <CallCard key={call.call_id} call={call} onAnswer={onAnswer} onInput={onInput} />
      ))}
    </>
  );
}
