/** What a notebook keeps of a widget. Anybody may have written the notebook, so it is looked at. Pure. */
import type { WidgetKind } from '../components/WidgetView';

export interface Still {
  kind: WidgetKind;
  /** '' when it names none. */
  modelId: string;
  /** The kernel that had it; '' when that is not known. */
  kernelId: string;
  takenAt: string;
  state: Record<string, unknown>;
}

const KINDS: readonly WidgetKind[] = ['tool_calls', 'trace', 'budget', 'vram'];

function object(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};
}

function name(value: unknown): string {
  return typeof value === 'string' && /^[\w-]{1,80}$/.test(value) ? value : '';
}

/** `null`: it is none of ours. */
export function stillFrom(data: unknown): Still | null {
  const { kind, model_id: modelId, kernel_id: kernelId, taken_at: takenAt, state } = object(data);
  const known = KINDS.find(each => each === kind);
  if (known === undefined) {
    return null;
  }
  return {
    kind: known,
    modelId: name(modelId),
    kernelId: name(kernelId),
    takenAt:
      typeof takenAt === 'string' && !Number.isNaN(Date.parse(takenAt)) ? takenAt : '1970-01-01T00:00:00Z',
    state: object(state)
  };
}
