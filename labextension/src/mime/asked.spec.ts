import { approvalFrom, planFrom } from './asked';

it('a question in a notebook says what was asked and how it was answered', () => {
  const approval = { question: 'Run this?', detail: 'x = 1', choice: 'allow_session', text: '', by: 'cli' };
  expect(approvalFrom(approval)).toMatchObject(approval);
});

it('a plan in a notebook keeps its steps', () => {
  const plan = {
    approach: 'Look first',
    steps: [{ text: 'look', status: 'completed' }],
    tools: ['read_file'],
    by: 'scout'
  };
  expect(planFrom(plan)).toEqual(plan);
});

it.each([null, 3, 'x', [], { question: {}, choice: 'explode', steps: [null, 7], tools: [{}], by: 1 }])(
  'a notebook may hold anything: %j',
  data => {
    expect(approvalFrom(data)).toMatchObject({ question: '', choice: null, text: '' });
    expect(planFrom(data)).toMatchObject({ approach: '', tools: [], by: 'agent' });
  }
);
