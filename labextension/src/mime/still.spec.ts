import { stillFrom } from './still';

const GOOD = {
  kind: 'trace',
  model_id: 'ab-12',
  kernel_id: 'cd-34',
  taken_at: '2026-03-01T09:00:00+00:00',
  state: { session: {} }
};

it('a picture names its widget, its kernel and its moment', () => {
  expect(stillFrom(GOOD)).toEqual({
    kind: 'trace',
    modelId: 'ab-12',
    kernelId: 'cd-34',
    takenAt: '2026-03-01T09:00:00+00:00',
    state: { session: {} }
  });
});

it.each([null, 3, 'x', [], {}, { kind: 'other' }, { kind: {} }])('%j is none of ours', data => {
  expect(stillFrom(data)).toBeNull();
});

it('what does not fit is left out', () => {
  const odd = { kind: 'vram', model_id: '../x', kernel_id: 5, taken_at: 'never', state: [1] };
  expect(stillFrom(odd)).toEqual({
    kind: 'vram',
    modelId: '',
    kernelId: '',
    takenAt: '1970-01-01T00:00:00Z',
    state: {}
  });
});
