import { expect, test } from 'vitest';
import { Deferred } from '../../src/base/deferred.ts';
import { startEverwire } from '../support/command-line.ts';
import { eventually } from '../support/process.ts';
import { startServerWithLogin, storeLogin } from './stored-login.ts';

test('a command says that it waits for the login of another process, and uses its result', async () => {
  const origin = await startServerWithLogin({
    mcp: (request, response, send) => {
      if (request.headers.authorization === 'Bearer new') response.writeHead(418).end();
      else send({}, 401);
    },
    token: (send) => void send({ error: 'invalid_request' }, 400),
  });
  const { store, key, env } = await storeLogin(origin, { accessToken: 'old' });
  const finish = new Deferred();
  const login = { ...key, issuer: `${key.issuer}#login` };
  const begun = new Deferred();
  const other = store.locked(login, async () => {
    begun.resolve();
    await finish.promise;
    const stored = (await store.get(key))!;
    await store.set(key, { ...stored, tokens: { ...stored.tokens!, accessToken: 'new' } });
  });
  await begun.promise;
  const command = startEverwire(['call', key.server, 'search'], env);
  const { host } = new URL(origin);
  const line = `Waiting for a login at ${host} that another process has begun: finish it, or end that process`;
  await eventually(() => command.stderr.includes(line) || undefined, 'the command says what it waits for');
  finish.resolve();
  await Promise.all([other, command.exited]);
  expect(command.stderr.join('\n')).toContain('418');
});
