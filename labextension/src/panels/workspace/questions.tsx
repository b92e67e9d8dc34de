import * as React from 'react';
import { goToQuestion, questionsOf, QuestionsLine, type OpenQuestion } from '../../components/QuestionsLine';
import type { SessionModel } from '../../model/session';
import type { WorkspaceModel } from './model';

/** The questions of a session, and those of the sessions that work for it. */
function openQuestions(model: WorkspaceModel, session: SessionModel): OpenQuestion[] {
  const workers = model.sessions.list.filter(
    entry => entry.parent === session.sessionId && entry.open_approvals > 0
  );
  return [session, ...workers.map(entry => model.sessions.session(entry.session_id))].flatMap(one =>
    questionsOf(one.view)
  );
}

/** Draw again when a worker's questions are read. */
function useWorkerViews(model: WorkspaceModel, session: SessionModel): void {
  const [, tick] = React.useReducer((count: number) => count + 1, 0);
  const asking = model.sessions.list
    .filter(entry => entry.parent === session.sessionId && entry.open_approvals > 0)
    .map(entry => entry.session_id)
    .join();
  React.useEffect(() => {
    const models = asking === '' ? [] : asking.split(',').map(id => model.sessions.session(id));
    models.forEach(one => one.changed.connect(tick));
    return () => models.forEach(one => one.changed.disconnect(tick));
  }, [model, asking]);
}

/** How many questions wait here, with a way to each. */
export function WaitingQuestions(props: {
  model: WorkspaceModel;
  session: SessionModel;
  page: React.RefObject<HTMLElement>;
}): React.JSX.Element | null {
  const { model, session, page } = props;
  useWorkerViews(model, session);
  return (
    <QuestionsLine
      questions={openQuestions(model, session)}
      onGo={id => page.current !== null && goToQuestion(page.current, id)}
    />
  );
}

/** Go to the next question when that is asked for, as soon as it is on the page: the one behind that which has the focus. */
export function useSeeking(
  model: WorkspaceModel,
  session: SessionModel,
  page: React.RefObject<HTMLElement>
): void {
  const sought = React.useRef(0);
  React.useEffect(() => {
    if (model.seeking === sought.current || page.current === null) {
      return;
    }
    const ids = openQuestions(model, session).map(question => question.id);
    const now = document.activeElement?.closest<HTMLElement>('[data-question]')?.dataset.question ?? '';
    const next = ids[(ids.indexOf(now) + 1) % ids.length];
    if (next !== undefined && goToQuestion(page.current, next)) {
      sought.current = model.seeking;
    }
  });
}
