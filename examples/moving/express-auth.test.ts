import type { AddressInfo } from 'node:net';
import { InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import { connect } from 'everwire/client';
import { expect, onTestFinished, test } from 'vitest';
import { createApp } from './express-auth.ts';

test("the SDK's middleware in Express tells the server who the caller is", async () => {
  const verifyAccessToken = async (token: string) => {
    if (!token.startsWith('token-of-')) throw new InvalidTokenError('No');
    const scopes = token.endsWith('ada') ? ['notes'] : [];
    return { token, clientId: token.slice(9), scopes, expiresAt: Date.now() / 1000 + 60 };
  };
  const listener = createApp({ verifyAccessToken }).listen(0, '127.0.0.1');
  await new Promise((resolve) => listener.once('listening', resolve));
  onTestFinished(() => {
    listener.closeAllConnections();
    listener.close();
  });
  const url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/mcp`;
  const as = async (token: string) => {
    const client = await connect(url, { headers: { authorization: `Bearer ${token}` } });
    onTestFinished(() => client.close());
    return client;
  };
  const { content } = await (await as('token-of-ada')).callTool('who');
  expect(content).toEqual([{ type: 'text', text: 'ada' }]);
  await expect((await as('token-of-bob')).callTool('who')).rejects.toThrow(/scope/);
  await expect(as('nothing')).rejects.toThrow(/401/);
});
