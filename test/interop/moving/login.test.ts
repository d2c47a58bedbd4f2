import { expect, onTestFinished, test, vi } from 'vitest';
import { connectAsUser as everwire } from '../../../examples/moving/client/oauth-everwire.ts';
import { connectAsUser as official } from '../../../examples/moving/client/oauth-official-sdk-1.ts';
import { browse } from '../../support/oidc-provider.ts';
import { startProtectedServer } from '../../support/protected-server.ts';

test('a login with the SDK and with ours has the same result', async () => {
  for (const method of ['info', 'warn'] as const) vi.spyOn(console, method).mockImplementation(() => {});
  onTestFinished(() => void vi.restoreAllMocks());
  // The SDK registers its client with the scopes that the server names.
  const server = await startProtectedServer({ scopes: ['openid', 'offline_access', 'notes:read', 'notes:write'] });
  onTestFinished(() => server.close());
  const login = (url: URL) => void browse(url);

  const theirs = await official(server.url, login);
  onTestFinished(() => theirs.close());
  const ours = await everwire(server.url, login);
  onTestFinished(() => ours.close());
  const { content } = await ours.callTool('who');
  expect(content).toEqual([{ type: 'text', text: expect.stringMatching(/#alice notes:read/) }]);
  expect((await theirs.callTool({ name: 'who' })).content).toMatchObject([
    { type: 'text', text: expect.stringMatching(/#alice notes:read/) },
  ]);
});
