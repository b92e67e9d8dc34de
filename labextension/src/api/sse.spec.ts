/** @jest-environment node */
import { SseParser } from './sse';

const STREAM =
  'event: hello\ndata: {"last_seq": 4}\n\n: heartbeat\n\nid: 5\nevent: pernix\ndata: {"text": "🐛 ü"}\n\ndata: a\ndata: b\n\n';
const MESSAGES = [
  { id: '', event: 'hello', data: '{"last_seq": 4}' },
  { id: '5', event: 'pernix', data: '{"text": "🐛 ü"}' },
  { id: '', event: 'message', data: 'a\nb' }
];

it('messages come out the same however the bytes are cut', () => {
  const bytes = new TextEncoder().encode(STREAM);
  for (let size = 1; size <= bytes.length; size++) {
    const parser = new SseParser();
    const found = [];
    for (let at = 0; at < bytes.length; at += size) {
      found.push(...parser.feed(bytes.slice(at, at + size)));
    }
    expect(found).toEqual(MESSAGES);
  }
});

it('an unfinished message is not given out', () => {
  expect(new SseParser().feed(new TextEncoder().encode('id: 1\ndata: x\n'))).toEqual([]);
});
