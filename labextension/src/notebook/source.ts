/** Texts of cells: what has to be replaced, and how a change looks. Pure. */

export interface Replacement {
  start: number;
  end: number;
  text: string;
}

const isLow = (unit: number) => unit >= 0xdc00 && unit <= 0xdfff;

/** The one piece of `before` that makes `after` of it, as short as it can be; null when they are equal. A pair of surrogates stays whole. */
export function replacement(before: string, after: string): Replacement | null {
  if (before === after) {
    return null;
  }
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start] === after[start]) {
    start++;
  }
  if (start > 0 && (isLow(before.charCodeAt(start)) || isLow(after.charCodeAt(start)))) {
    start--;
  }
  let same = 0;
  while (same < shorter - start && before[before.length - 1 - same] === after[after.length - 1 - same]) {
    same++;
  }
  if (same > 0 && isLow(before.charCodeAt(before.length - same))) {
    same--;
  }
  return { start, end: before.length - same, text: after.slice(start, after.length - same) };
}

export interface DiffLine {
  tone: 'same' | 'added' | 'removed';
  text: string;
  /** The part of `text` that differs from its counterpart: from, to. */
  marked?: readonly [number, number];
}

/** Above this many pairs of lines the middle is shown as removed and added whole. */
const MOST_PAIRS = 250_000;

/** Lines removed, added and kept; a removed line and the added one in its place tell what differs in them. */
export function lineDiff(before: string, after: string): DiffLine[] {
  const olds = before === '' ? [] : before.split('\n');
  const news = after === '' ? [] : after.split('\n');
  let start = 0;
  while (start < olds.length && start < news.length && olds[start] === news[start]) {
    start++;
  }
  let same = 0;
  while (
    same < Math.min(olds.length, news.length) - start &&
    olds[olds.length - 1 - same] === news[news.length - 1 - same]
  ) {
    same++;
  }
  const kept = (text: string): DiffLine => ({ tone: 'same', text });
  return [
    ...olds.slice(0, start).map(kept),
    ...marked(middle(olds.slice(start, olds.length - same), news.slice(start, news.length - same))),
    ...olds.slice(olds.length - same).map(kept)
  ];
}

/** A longest common subsequence. */
function middle(olds: string[], news: string[]): DiffLine[] {
  const removed = (text: string): DiffLine => ({ tone: 'removed', text });
  const added = (text: string): DiffLine => ({ tone: 'added', text });
  if (olds.length * news.length > MOST_PAIRS) {
    return [...olds.map(removed), ...news.map(added)];
  }
  const width = news.length + 1;
  const lengths = new Uint32Array((olds.length + 1) * width);
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0;
  for (let i = olds.length - 1; i >= 0; i--) {
    for (let j = news.length - 1; j >= 0; j--) {
      lengths[i * width + j] =
        olds[i] === news[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: DiffLine[] = [];
  for (let i = 0, j = 0; i < olds.length || j < news.length;) {
    const [old, fresh] = [olds[i], news[j]];
    if (old !== undefined && old === fresh) {
      lines.push({ tone: 'same', text: old });
      i++;
      j++;
    } else if (old !== undefined && (fresh === undefined || at(i + 1, j) >= at(i, j + 1))) {
      lines.push(removed(old));
      i++;
    } else {
      lines.push(added(fresh ?? ''));
      j++;
    }
  }
  return lines;
}

function marked(lines: DiffLine[]): DiffLine[] {
  const result = [...lines];
  for (let i = 0; i < result.length;) {
    const olds = run(result, i, 'removed');
    const news = run(result, i + olds, 'added');
    for (let pair = 0; pair < Math.min(olds, news); pair++) {
      const [old, fresh] = [result[i + pair], result[i + olds + pair]];
      const piece = old && fresh ? replacement(old.text, fresh.text) : null;
      if (old && fresh && piece && alike(old.text, fresh.text, piece)) {
        result[i + pair] = { ...old, marked: [piece.start, piece.end] };
        result[i + olds + pair] = { ...fresh, marked: [piece.start, piece.start + piece.text.length] };
      }
    }
    i += Math.max(olds + news, 1);
  }
  return result;
}

/** Lines that share little are two lines, not one that was changed: marks in them would only distract. */
function alike(old: string, fresh: string, piece: Replacement): boolean {
  const shared = piece.start + old.length - piece.end;
  return shared > 0 && 2 * shared >= Math.min(old.length, fresh.length);
}

function run(lines: DiffLine[], from: number, tone: DiffLine['tone']): number {
  let end = from;
  while (lines[end]?.tone === tone) {
    end++;
  }
  return end - from;
}

/** Leave out what is far from any change; null stands for lines left out. */
export function excerpt(lines: readonly DiffLine[], around = 3): (DiffLine | null)[] {
  const near = lines.map((_, index) =>
    lines.slice(Math.max(0, index - around), index + around + 1).some(line => line.tone !== 'same')
  );
  return lines.flatMap((line, index) =>
    near[index] ? [line] : near[index - 1] || index === 0 ? [null] : []
  );
}
