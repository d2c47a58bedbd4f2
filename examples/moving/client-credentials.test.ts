import { connect } from 'everwire/client';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { root } from '../../test/support/process.ts';
import { startProtectedServer } from '../../test/support/protected-server.ts';
import { filesShownIn } from '../../test/support/shown.ts';

describe('the page about mcp-remote', () => {
  const files = filesShownIn('docs/moving/mcp-remote.md');

  test('shows the file of the example', () => {
    expect(files.map(({ file }) => file)).toEqual(['examples/moving/client-credentials.ts']);
  });

  test.each(files)('shows $file unchanged', ({ shown, actual }) => {
    expect(shown).toBe(actual);
  });
});

test('the example with client credentials calls as the application', async () => {
  for (const method of ['info', 'warn'] as const) vi.spyOn(console, method).mockImplementation(() => {});
  onTestFinished(() => void vi.restoreAllMocks());
  const secret = 'the-secret-of-reports';
  const server = await startProtectedServer({
    clients: [
      {
        client_id: 'reports',
        client_secret: secret,
        redirect_uris: [],
        response_types: [],
        grant_types: ['client_credentials'],
      },
    ],
  });
  onTestFinished(() => server.close());
  const client = await connect({
    command: process.execPath,
    args: [`${root}dist/examples/moving/client-credentials.js`],
    env: { SERVER: server.url, CLIENT_SECRET: secret },
  });
  onTestFinished(() => client.close());
  const { content } = await client.callTool('who');
  expect(content).toEqual([{ type: 'text', text: expect.stringContaining(`${server.authorization.issuer}#reports `) }]);
});
