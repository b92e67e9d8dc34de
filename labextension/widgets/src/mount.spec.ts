import { act } from 'react';
import { type Model, widget } from './mount';

const SILENT = 'The kernel has not answered yet';

beforeEach(() => {
  Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });
  jest.useFakeTimers();
});

afterEach(() => jest.useRealTimers());

function model(state: Record<string, unknown>) {
  const heard = new Map<string, (() => void)[]>();
  const sent: unknown[] = [];
  const fake: Model = {
    get: name => state[name],
    send: content => void sent.push(content),
    on: (event, callback) => void heard.set(event, [...(heard.get(event) ?? []), callback]),
    off: (event, callback) =>
      void heard.set(
        event,
        (heard.get(event) ?? []).filter(each => each !== callback)
      )
  };
  const say = (event: string) => act(() => heard.get(event)?.forEach(callback => callback()));
  return { fake, sent, say, count: () => [...heard.values()].flat().length };
}

it('a view asks for life, follows its model, and lets go of it', () => {
  const state: Record<string, unknown> = {
    gpus: { devices: [], driver: '', detail: 'none' },
    link: undefined
  };
  const { fake, sent, say, count } = model(state);
  const el = document.createElement('div');
  let stop = () => undefined as void;
  act(() => {
    stop = widget('vram').default.render({ model: fake, el });
  });
  expect(el.dataset.pernix).toBe('vram');
  expect(sent).toEqual([{ ask: 'live' }]);
  expect(el.textContent).toContain('none');

  act(() => void jest.advanceTimersByTime(5000));
  expect(el.textContent).toContain(SILENT);
  say('msg:custom');
  expect(el.textContent).not.toContain(SILENT);

  state.gpus = { devices: [], driver: '', detail: 'still none' };
  say('change');
  expect(el.textContent).toContain('still none');
  act(() => void jest.advanceTimersByTime(60_000));
  expect(el.textContent).not.toContain(SILENT);

  state.link = { state: 'away', text: 'refused' };
  say('change');
  expect(el.textContent).toContain('The server does not answer.');
  act(() => stop());
  expect(count()).toBe(0);
  expect(el.textContent).toBe('');
});
