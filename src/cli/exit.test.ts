import { expect, test } from 'vitest';
import { OAuthError } from '../auth/client/oauth-error.ts';
import { ConnectionError, InvalidResultError, TimeoutError } from '../client/errors.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { failureOf, Interrupted } from './exit.ts';
import { Failure } from './failure.ts';

const status = (code: number): Error => Object.assign(new Error(`HTTP ${code}`), { status: code });
const oauth = new OAuthError('authorization', 'access_denied');
const within = (cause: Error): Error => new ConnectionError('Cannot connect', { cause });

test.each<[string, Error, boolean, number]>([
  ['a mistake in the command line', Failure.usage('x'), true, 2],
  ['an error of the server', new RpcError(-32602, 'no'), true, 1],
  ['an error of the server as it is connected to', new RpcError(-32603, 'no'), false, 3],
  ['a result that is none', new InvalidResultError('x'), true, 1],
  ['a server that cannot be reached', new ConnectionError('x'), false, 3],
  ['a connection that is lost', new ConnectionError('x'), true, 3],
  ['a command that is not there', new Error('command not found'), false, 3],
  ['a request that takes too long', new TimeoutError('x', 1000), true, 5],
  ['connecting that takes too long', within(new TimeoutError('x', 1000)), false, 5],
  ['a 401 that is answered by nothing', within(status(401)), false, 4],
  ['a 403', within(status(403)), true, 4],
  ['a 500', within(status(500)), false, 3],
  ['a login that failed', within(oauth), false, 4],
  ['an interruption', new Interrupted('SIGINT'), true, 130],
  ['an interruption while connecting', within(new Interrupted('SIGINT')), false, 130],
  ['anything else', new TypeError('x'), true, 1],
])('%s', (_, error, connected, exitCode) => {
  expect(failureOf(error, connected)).toMatchObject({ exitCode });
});

test('a server’s error is quoted with its code, and a question that could not be asked is explained', () => {
  expect(failureOf(new RpcError(-32602, 'no such tool'), true).message).toBe(
    'the server answered with an error: no such tool (-32602)',
  );
  expect(failureOf(new RpcError(-32021, 'needs elicitation'), true).message).toMatch(
    /so run the command on a terminal$/,
  );
});

test('circular causes end', () => {
  const error = new Error('round');
  error.cause = error;
  expect(failureOf(error, true).exitCode).toBe(1);
});
