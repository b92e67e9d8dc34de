import { withShare } from './shares';

it('the largest neighbour gives what an area gets, hidden ones stay hidden', () => {
  expect(withShare([0.2, 0.6, 0.2], 2, 0.3)).toEqual([0.2, expect.closeTo(0.5), 0.3]);
  expect(withShare([0, 0.8, 0.2], 2, 0.3)).toEqual([0, expect.closeTo(0.7), 0.3]);
});
