import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { McpServer } from '../server/mcp-server.ts';
import { deferred } from '../../test/support/service.ts';
import { OAuthWorld, SERVER } from '../../test/support/oauth-world.ts';
import { customRedirect } from '../auth/index.ts';
import { connect } from './connect.ts';

// Operations on keys and files use real time.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] }));
afterEach(() => void vi.useRealTimers());

const MINUTE = 60_000;

/** A server that requires a login for all requests or only for the tool, and a user who takes ten minutes for it. */
function world(guarded: (method: string) => boolean) {
  const server = new McpServer({ name: 'guarded', version: '1.0.0' });
  const calls = vi.fn<() => void>();
  server.tool('open', {}, () => {
    calls();
    return 'opened';
  });
  onTestFinished(() => server.close());
  const oauth = new OAuthWorld();
  const userAsked = deferred();
  const reached = deferred();
  const redirect = customRedirect('http://127.0.0.1:7777/callback', async ({ state }) => {
    userAsked.resolve();
    await new Promise((resolve) => setTimeout(resolve, 10 * MINUTE));
    return new URLSearchParams({ code: 'the-code', state });
  });
  let silent = false;
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    const text = await request.clone().text();
    const { method } = (text === '' ? { method: request.method } : JSON.parse(text)) as { method: string };
    if (guarded(method) && !request.headers.has('authorization')) {
      return new Response(null, { status: 401, headers: { 'www-authenticate': 'Bearer' } });
    }
    if (silent && request.method === 'POST' && request.headers.has('authorization')) {
      reached.resolve();
      return new Promise(() => {});
    }
    return server.fetch(new Request('http://localhost/mcp', request));
  };
  return {
    calls,
    /** Resolves when the user is asked. */
    userAsked: userAsked.promise,
    /** Resolves when the server gets a request with a token. The server does not answer it. */
    reached: reached.promise,
    options: { fetch, authorizer: oauth.authorizer({ redirect }), timeout: MINUTE, connectTimeout: MINUTE },
    stopAnswering: () => {
      silent = true;
    },
  };
}

const tool = (method: string): boolean => method === 'tools/call';

/** The errors of a call that waits for a login and then for a silent server. It fails a minute after the login. */
async function failsAMinuteAfterLogin(
  { userAsked, reached }: ReturnType<typeof world>,
  call: Promise<unknown>,
): Promise<unknown[][]> {
  const failed = vi.fn<(error: unknown) => void>();
  const settled = call.catch(failed);
  await userAsked;
  await vi.advanceTimersByTimeAsync(10 * MINUTE);
  await reached;
  await vi.advanceTimersByTimeAsync(MINUTE - 1000);
  expect(failed).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1000);
  await settled;
  return failed.mock.calls;
}

describe.each(['legacy', 'modern'] as const)('the time of a login (%s)', (eras) => {
  test('does not count while connecting', async () => {
    const { options, userAsked } = world(() => true);
    const connecting = connect(SERVER, { ...options, eras });
    await userAsked;
    await vi.advanceTimersByTimeAsync(10 * MINUTE);
    const client = await connecting;
    expect(client.serverInfo).toMatchObject({ name: 'guarded' });
    await client.close();
  });

  test('does not count for the timeout of a call', async () => {
    const { options, calls, userAsked } = world(tool);
    const client = await connect(SERVER, { ...options, eras });
    const call = client.callTool('open');
    await userAsked;
    await vi.advanceTimersByTimeAsync(10 * MINUTE);
    expect(await call).toMatchObject({ content: [{ text: 'opened' }] });
    expect(calls).toHaveBeenCalledOnce();
    await client.close();
  });

  test('is followed by the full timeout for the server', async () => {
    const at = world(tool);
    const client = await connect(SERVER, { ...at.options, eras });
    at.stopAnswering();
    const errors = await failsAMinuteAfterLogin(at, client.callTool('open'));
    expect(errors).toMatchObject([[{ name: 'TimeoutError', limit: MINUTE }]]);
    await client.close();
  });

  test('counts for the maxTimeout of the call', async () => {
    const { options, userAsked } = world(tool);
    const client = await connect(SERVER, { ...options, eras });
    const failed = vi.fn<(error: unknown) => void>();
    const call = client.callTool('open', {}, { maxTimeout: 2 * MINUTE }).catch(failed);
    await userAsked;
    await vi.advanceTimersByTimeAsync(2 * MINUTE);
    await call;
    expect(failed.mock.calls).toMatchObject([[{ name: 'TimeoutError', limit: 2 * MINUTE }]]);
    await client.close();
  });
});

test('after the login, a silent server cannot delay connecting beyond its limit', async () => {
  const at = world(() => true);
  at.stopAnswering();
  const errors = await failsAMinuteAfterLogin(at, connect(SERVER, at.options));
  expect(errors).toMatchObject([
    [{ name: 'TimeoutError', limit: MINUTE, message: expect.stringContaining('mcp.example/mcp did not answer') }],
  ]);
  expect(vi.getTimerCount()).toBe(0);
});
