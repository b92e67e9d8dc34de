/**
 * A text that is still being written, cut where no later letter can change what stands before. Pure.
 *
 * Only the last block is drawn anew for each piece, so a long answer streams as fast as a short one.
 */

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
/** Lines that may belong to what precedes the blank line before them. */
const CONTINUES = /^(\s|[-*+>|]|\d+[.)])/;

export function splitBlocks(text: string): string[] {
  const lines = text.split('\n');
  const blocks: string[] = [];
  let start = 0;
  let fence = '';
  lines.forEach((line, index) => {
    const mark = FENCE.exec(line)?.[1] ?? '';
    if (fence === '' && mark) {
      fence = mark;
    } else if (mark.startsWith(fence) && mark && line.trim() === mark) {
      fence = '';
    }
    const next = lines[index + 1];
    const ends =
      fence === '' && line.trim() === '' && next !== undefined && next !== '' && !CONTINUES.test(next);
    if (ends && index > start) {
      blocks.push(lines.slice(start, index + 1).join('\n'));
      start = index + 1;
    }
  });
  blocks.push(lines.slice(start).join('\n'));
  return blocks;
}
