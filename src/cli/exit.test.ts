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
  ['an error of the server while connecting', new RpcError(-32603, 'no'), false, 3],
  ['an invalid result', new InvalidResultError('x'), true, 1],
  ['an unreachable server', new ConnectionError('x'), false, 3],
  ['a lost connection', new ConnectionError('x'), true, 3],
  ['a missing command', new Error('command not found'), false, 3],
  ['a request timeout', new TimeoutError('x', 1000), true, 5],
  ['a connect timeout', within(new TimeoutError('x', 1000)), false, 5],
  ['a 401 without a way to log in', within(status(401)), false, 4],
  ['a 403', within(status(403)), true, 4],
  ['a 500', within(status(500)), false, 3],
  ['a failed login', within(oauth), false, 4],
  ['an interruption', new Interrupted('SIGINT'), true, 130],
  ['an interruption while connecting', within(new Interrupted('SIGINT')), false, 130],
  ['anything else', new TypeError('x'), true, 1],
])('%s gives the documented exit code', (_, error, connected, exitCode) => {
  expect(failureOf(error, connected)).toMatchObject({ exitCode });
});

test('a server’s error is quoted with its code, and a question that could not be asked is explained', () => {
  expect(failureOf(new RpcError(-32602, 'no such tool'), true).message).toBe(
    'the server answered with an error: no such tool (-32602)',
  );
  expect(failureOf(new RpcError(-32021, 'needs elicitation'), true).message).toMatch(
    /run the command on a terminal, or give the answers with --answers$/,
  );
});

test('a server without registration of clients may expect a token', () => {
  const error = within(new OAuthError('registration', 'no'));
  expect(failureOf(error, false)).toMatchObject({
    exitCode: 4,
    message: 'Cannot connect. If the server expects a token instead of a login, add it with --header',
  });
  expect(failureOf(within(oauth), false).message).toBe('Cannot connect');
});

test('circular causes are followed only once', () => {
  const error = new Error('round');
  error.cause = error;
  expect(failureOf(error, true).exitCode).toBe(1);
});
