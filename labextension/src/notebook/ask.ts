/** Sessions that work in a notebook: which one, and what it is asked about a cell. */
import type { SessionSummary } from '../api/types.gen';
import type { SessionsModel } from '../model/sessions';

/** The newest session at this notebook that is free to take a message; workers and archived ones are not meant. */
export function attachedSession(
  sessions: readonly SessionSummary[],
  path: string,
  idle: boolean
): SessionSummary | undefined {
  return sessions
    .filter(
      session =>
        session.notebook === path &&
        !session.archived &&
        session.parent === null &&
        (!idle || session.state === 'idle_ready')
    )
    .sort((one, other) => (one.updated_at < other.updated_at ? 1 : -1))[0];
}

export function folderOf(path: string): string {
  return path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '';
}

/** A session at the notebook, a new one if need be; null when the model of sessions says why there is none. */
export async function sessionAt(
  sessions: SessionsModel,
  path: string,
  idle: boolean
): Promise<SessionSummary | null> {
  return (
    attachedSession(sessions.list, path, idle) ??
    (await sessions.create({ space_root: folderOf(path), notebook: path }))
  );
}
