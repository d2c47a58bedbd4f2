import { expect, test } from 'vitest';
import { AnswerLost, HttpStatusError } from '../transport/http/client/errors.ts';
import { NotSent } from '../transport/http/client/http.ts';
import { RpcError } from './errors.ts';
import { isTemporary } from './error-chain.ts';

const around = (cause: Error): Error => new Error('failed', { cause });

test.each<[string, unknown, boolean | undefined]>([
  ['a request that was not sent', new NotSent('refused'), true],
  ['a lost response', around(new AnswerLost('reset')), true],
  ['a lost response, whatever prevented fetching it again', new AnswerLost('x', { cause: status(410) }), true],
  ['a status of 503', around(status(503)), true],
  ['a refusal', around(status(403)), false],
  ['a refusal, whatever its code', new RpcError(-32000, 'no', { cause: status(400) }), false],
  ['a closed connection', new RpcError(-32000, 'closed'), true],
  ['a timeout', new RpcError(-32001, 'late'), true],
  ['an internal error', new RpcError(-32603, 'oops'), true],
  ['any other error of a server', new RpcError(-32601, 'what?'), false],
  ['an error of unknown origin', around(new RpcError(-32601, 'what?')), undefined],
  ['a value that is not an error', 'thrown', undefined],
])('%s is temporary: %s', (_, error, temporary) => {
  expect(isTemporary(error)).toBe(temporary);
});

function status(code: number): HttpStatusError {
  return new HttpStatusError(code, 'no');
}
