import { splitBlocks } from './blocks';

it('paragraphs are blocks, and the pieces are the text', () => {
  const text = 'one\n\ntwo\nmore\n\nthree';
  expect(splitBlocks(text)).toEqual(['one\n', 'two\nmore\n', 'three']);
  expect(splitBlocks(text).join('\n')).toBe(text);
});

it('code is never cut, however long the fence', () => {
  const text = '````md\na\n\n```\nb\n\n```\n\nc\n````\n\nafter';
  expect(splitBlocks(text)).toEqual(['````md\na\n\n```\nb\n\n```\n\nc\n````\n', 'after']);
  expect(splitBlocks('```py\nx\n\ny')).toEqual(['```py\nx\n\ny']);
});

it('lists, quotes and indented text stay with what precedes them', () => {
  const text = '1. a\n\n2. b\n\n   more\n\n> q\n\n> r';
  expect(splitBlocks(text)).toEqual([text]);
});
