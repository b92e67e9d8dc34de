import { SESSION_STATES, TERMINAL_CODES } from '../api/types.gen';
import {
  ago,
  bytes,
  CODES,
  count,
  duration,
  pictureWords,
  plain,
  secondsBetween,
  sentence,
  STATES,
  usageWords
} from './words';

it('every state and every ending has words', () => {
  expect(Object.keys(STATES)).toEqual([...SESSION_STATES]);
  expect(Object.keys(CODES)).toEqual([...TERMINAL_CODES]);
});

it('times read as a person says them', () => {
  expect([0.02, 1.26, 3, 42.4, 125, 3725].map(duration)).toEqual([
    '20 ms',
    '1.3 s',
    '3 s',
    '42 s',
    '2 min 5 s',
    '1 h 2 min'
  ]);
  expect(secondsBetween('2026-01-01T00:00:00Z', '2026-01-01T00:00:01.500Z')).toBe(1.5);
  expect(secondsBetween(null, 5)).toBe(0);
  expect(ago('2026-01-01T00:00:00Z', Date.parse('2026-01-01T00:05:10Z'))).toBe('5 min ago');
});

it('amounts are short', () => {
  expect([7, 8192, 1_000_000].map(count)).toEqual(['7', '8.2k', '1M']);
  expect([900, 34_000_000, 1_120_000_000].map(bytes)).toEqual(['1 kB', '34 MB', '1.1 GB']);
  expect(usageWords({ prompt_tokens: 900, completion_tokens: 50, cached_tokens: 700 })).toBe(
    '900 in (700 cached), 50 out'
  );
  expect(usageWords({ prompt_tokens: null, completion_tokens: null, cached_tokens: null })).toBe('');
});

it('characters that turn or hide text are shown', () => {
  expect(plain('a\u202egpj.exe')).toBe('a\\u202egpj.exe');
});

it('pictures are described by the text that came with them', () => {
  expect(pictureWords('<Figure size 640x480 with 1 Axes>')).toBe('Figure size 640x480 with 1 Axes');
  expect(pictureWords(['a ', 'plot'])).toBe('a plot');
  expect(pictureWords(undefined)).toBe('Picture without a description');
});

it('hints begin like sentences, commands stay as they are typed', () => {
  expect(sentence('check the key')).toBe('Check the key');
  expect(sentence('pip install x')).toBe('pip install x');
});
