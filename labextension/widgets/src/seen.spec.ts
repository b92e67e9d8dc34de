import type { Model } from './mount';
import { tellSeen } from './seen';

let visible = false;
let observe: (seen: boolean) => void = () => undefined;

class Observer {
  constructor(callback: (entries: { isIntersecting: boolean }[]) => void) {
    observe = seen => callback([{ isIntersecting: seen }]);
  }
  observe(): void {
    observe(visible);
  }
  disconnect(): void {
    observe = () => undefined;
  }
}

function page(state: 'visible' | 'hidden'): void {
  Object.defineProperty(document, 'visibilityState', { value: state, configurable: true });
  document.dispatchEvent(new Event('visibilitychange'));
}

beforeEach(() => {
  jest.useFakeTimers();
  Object.assign(globalThis, { IntersectionObserver: Observer });
  page('visible');
  visible = false;
});

afterEach(() => jest.useRealTimers());

it('the kernel is told when the view comes into sight and goes, and again while it stays', () => {
  const told: boolean[] = [];
  const model = { send: (content: { visible: boolean }) => told.push(content.visible) } as unknown as Model;
  const stop = tellSeen({ model, el: document.createElement('div') });
  expect(told).toEqual([]);
  observe(true);
  observe(true);
  expect(told).toEqual([true]);
  page('hidden');
  expect(told).toEqual([true, false]);
  jest.advanceTimersByTime(600_000);
  expect(told).toEqual([true, false]);
  page('visible');
  jest.advanceTimersByTime(300_000);
  expect(told).toEqual([true, false, true, true]);
  stop();
  expect(told).toEqual([true, false, true, true, false]);
  page('hidden');
  jest.advanceTimersByTime(900_000);
  expect(told).toHaveLength(5);
});

it('a kernel that is gone is no fault', () => {
  const model = {
    send: () => {
      throw new Error('Cannot send');
    }
  } as unknown as Model;
  visible = true;
  expect(() => tellSeen({ model, el: document.createElement('div') })()).not.toThrow();
});
