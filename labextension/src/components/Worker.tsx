import * as React from 'react';
import type { SessionSummary, WorkerView } from '../api/types.gen';
import { useRenderers } from './renderers';
import { CODES, plain, STATES, type Tone } from './words';

/** What a card needs to know of the sessions that work for this one. */
export interface Workers {
  summary: (workerId: string) => SessionSummary | undefined;
  open: (workerId: string) => void;
  /** What a worker asks, to be answered where it is shown. */
  Questions: React.ComponentType<{ workerId: string }>;
}

export const WorkersContext = React.createContext<Workers | null>(null);

function stateOf(worker: WorkerView, summary: SessionSummary | undefined): { label: string; tone: Tone } {
  if (worker.code !== null) {
    return { label: CODES[worker.code], tone: 'rest' };
  }
  if (summary === undefined) {
    return { label: 'Starting', tone: 'busy' };
  }
  return summary.open_approvals > 0 ? STATES.awaiting_user : STATES[summary.state];
}

/** The session that a call was handed to: its state, its questions, its answer. */
export function Worker(props: { worker: WorkerView }): React.JSX.Element {
  const { worker } = props;
  const workers = React.useContext(WorkersContext);
  const { Markdown } = useRenderers();
  const { label, tone } = stateOf(worker, workers?.summary(worker.worker_id));
  const title = plain(worker.title) || 'Worker';
  return (
    <div className="jp-Pernix-worker" role="group" aria-label={`Worker: ${title}`}>
      <div className="jp-Pernix-workerHead">
        <span className={`jp-Pernix-dot jp-mod-${tone}`} aria-hidden="true" />
        <span className="jp-Pernix-workerTitle">{title}</span>
        <span className={tone === 'asks' ? 'jp-Pernix-chip jp-mod-asks' : 'jp-Pernix-chip'}>{label}</span>
        {workers !== null && (
          <button type="button" className="jp-Pernix-link" onClick={() => workers.open(worker.worker_id)}>
            Open its session
          </button>
        )}
      </div>
      {worker.code === null && workers !== null && <workers.Questions workerId={worker.worker_id} />}
      {worker.answer.trim() !== '' && (
        <div className="jp-Pernix-workerAnswer">
          <Markdown text={worker.answer} streaming={false} />
        </div>
      )}
    </div>
  );
}
