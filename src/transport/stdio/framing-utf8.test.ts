import { expect, test } from 'vitest';
import { errorResponse, request, resultResponse, type Message } from '../../jsonrpc/message.ts';
import { Framing } from './framing.ts';

test('a response to a client that is not UTF-8 fails its request', () => {
  const delivered: Message[] = [];
  const reported: string[] = [];
  const framing = new Framing(
    {
      deliver: (message) => delivered.push(message),
      answer: (json) => expect.unreachable(json),
      report: ({ message }) => reported.push(message),
      lost: ({ message }) => expect.unreachable(message),
    },
    { answerInvalid: false, maxMessageBytes: 1000 },
  );
  const push = (line: unknown): boolean =>
    framing.push(Buffer.from(`${typeof line === 'string' ? line : JSON.stringify(line)}\n`, 'latin1'));
  push({ result: { text: 'ä', id: 5, method: 'x' }, jsonrpc: '2.0', id: 1 });
  push({ jsonrpc: '2.0', id: 'x', error: { code: 1, message: 'ä' } });
  const why = 'Invalid response: a message must be valid UTF-8';
  const failures = [1, 'x'].map((id) => errorResponse(id, { code: -32600, message: why }));
  expect([delivered, reported]).toEqual([failures, [why, why]]);
  const others = [
    request(2, 'ä'),
    { id: 3, text: 'ä' },
    resultResponse('ä', {}),
    '{"id":4,"result":"ä"} and more',
    'ä',
  ];
  others.forEach(push);
  expect(delivered).toHaveLength(2);
  expect(reported.slice(2)).toEqual(others.map(() => 'Parse error: not valid UTF-8'));
});
