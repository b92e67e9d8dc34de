/** Variables that a message names with `@`. Pure. */
import type { Mention } from '../api/types.gen';

/** A name begins a word; what stands before it in an address (`a@b`) is none. */
const NAMED = /(?<![\p{L}\p{N}_.])@([\p{L}_][\p{L}\p{N}_.]*)/gu;
const BEGUN = /(?<![\p{L}\p{N}_.])@([\p{L}_][\p{L}\p{N}_.]*)?$/u;

/** The name that is being written before the cursor: '' right after the `@`, null when there is none. */
export function nameBefore(text: string, cursor: number): string | null {
  const found = BEGUN.exec(text.slice(0, cursor));
  return found === null ? null : (found[1] ?? '');
}

export function hasNames(text: string): boolean {
  return text.search(NAMED) >= 0;
}

/** The longest known name at the start of `written`: what follows a dot may be an attribute, or the end of the sentence. */
function knownName(written: string, known: ReadonlySet<string>): string | null {
  for (let name = written; name !== ''; name = name.slice(0, Math.max(0, name.lastIndexOf('.')))) {
    if (known.has(name)) {
      return name;
    }
  }
  return null;
}

/** Each once, in the order in which they are named. */
export function mentionsIn(text: string, known: ReadonlySet<string>): Mention[] {
  const names = [...text.matchAll(NAMED)].flatMap(match => knownName(match[1] ?? '', known) ?? []);
  return [...new Set(names)].map(name => ({ kind: 'variable', name }));
}
