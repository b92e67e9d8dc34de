/** Fields of JSON that anybody may have written: each is what it should be, or as good as absent. Pure. */
import type { JSONObject } from '../api/types.gen';

export function object(value: unknown): JSONObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JSONObject) : {};
}

export function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

export function number(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

export function oneOf<T>(all: readonly T[], value: unknown, otherwise: T): T {
  return all.find(entry => entry === value) ?? otherwise;
}
