import * as React from 'react';
import { flushSync } from 'react-dom';
import { createRoot, type Root } from 'react-dom/client';
import { STILL, withoutEscapes } from './still';
import { gib } from './Vram';
import { WidgetView } from './WidgetView';

let root: Root;
let host: HTMLDivElement;

beforeEach(() => {
  host = document.createElement('div');
  root = createRoot(host);
});

afterEach(() => root.unmount());

function draw(element: React.ReactNode): HTMLElement {
  flushSync(() => root.render(element));
  return host;
}

const GPU = {
  index: 0,
  name: 'NVIDIA H200',
  uuid: '',
  slice: null,
  total_bytes: 100 * 2 ** 30,
  used_bytes: 40 * 2 ** 30,
  free_bytes: 60 * 2 ** 30,
  utilization: 37,
  temperature: null,
  power_watts: 120,
  power_limit_watts: 700,
  processes: [
    { pid: 7, name: '/usr/bin/python3', used_bytes: 30 * 2 ** 30 },
    { pid: 8, name: '', used_bytes: null }
  ],
  problem: ''
};

function vram(gpus: unknown, takenAt: string | null = null) {
  const state: Record<string, unknown> = { gpus, kernel_pid: 7, link: { state: 'live', text: '' } };
  return draw(<WidgetView kind="vram" get={name => state[name]} takenAt={takenAt} />);
}

it('a card says what is used, what is free, and who has it', () => {
  const words = vram({ devices: [GPU], driver: '570', detail: '' }).textContent ?? '';
  expect(words).toContain('37% busy · 120 of 700 W');
  expect(words).toContain('40.0 GiB of 100 GiB used · 60.0 GiB free');
  expect(words).toContain('this kernel, python3 (7) 30.0 GiB');
  expect(words).toContain('a process (8) ?');
  expect(words).not.toContain('Not live');
});

it('what a card does not tell is not made up', () => {
  const words = vram({
    devices: [{ ...GPU, total_bytes: null, used_bytes: null, free_bytes: null, problem: 'no' }]
  });
  expect(words.textContent).not.toContain('GiB used');
  expect(words.textContent).toContain('Not all can be read: no');
});

it('without a card the reason stands there, and a picture says when it was taken', () => {
  const words = vram(
    { devices: [], driver: '', detail: 'no NVIDIA GPU found: none' },
    '2026-03-01T09:00:00Z'
  ).textContent;
  expect(words).toContain('no NVIDIA GPU found: none');
  expect(words).toContain('Not live: as it was on');
});

it('what cannot be drawn is said to be so', () => {
  const silence = jest.spyOn(console, 'error').mockImplementation(() => undefined);
  expect(vram([]).textContent).toBe('What the notebook keeps of this widget cannot be shown.');
  silence.mockRestore();
});

it('of outputs only text and pictures with their bytes are drawn', () => {
  const { Outputs } = STILL;
  const html = draw(
    <Outputs
      outputs={[
        { output_type: 'display_data', data: { 'text/html': '<b id="x">no</b>', 'text/plain': 'plain' } },
        { output_type: 'display_data', data: { 'image/png': 'AAAA', 'text/plain': '<Figure size 1>' } },
        { output_type: 'display_data', data: { 'image/png': 'x" onerror="1', 'text/plain': 'broken' } },
        { output_type: 'error', ename: 'E', evalue: '<img>', traceback: [] },
        { output_type: 'display_data', data: 'odd' }
      ]}
    />
  );
  expect([...html.querySelectorAll('img')].map(image => [image.getAttribute('src'), image.alt])).toEqual([
    ['data:image/png;base64,AAAA', 'Figure size 1']
  ]);
  expect([...html.querySelectorAll('pre')].map(each => each.textContent)).toEqual([
    'plain',
    'broken',
    'E: <img>'
  ]);
});

it.each([
  ['\u001b[31mred\u001b[0m', 'red'],
  ['10%\r100%', '100%'],
  ['one\r\ntwo', 'one\ntwo'],
  ['\u001b]8;;http://x\u0007link\u001b]8;;\u0007', 'link'],
  ['end\r', 'end\r']
])('%j reads %j', (text, plain) => {
  expect(withoutEscapes(text)).toBe(plain);
});

it.each([
  [null, '?'],
  [0, '0.0 GiB'],
  [150 * 2 ** 30, '150 GiB']
])('%j bytes are %s', (size, words) => {
  expect(gib(size)).toBe(words);
});
