import { onTestFinished, expect, test, vi } from 'vitest';
import { challenge, OAuthWorld, send, type Gatekeeper } from '../../../test/support/oauth-world.ts';

/** A server that asks for other scopes each time. */
const refusing = (): Gatekeeper => {
  let refusals = 0;
  return () => challenge(403, `Bearer error="insufficient_scope", scope="scope-${++refusals}"`);
};

test('a server that always requires other scopes opens the browser 10 times within 10 minutes', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const world = new OAuthWorld();
  const authorizer = world.authorizer();
  await send(authorizer);
  // Later, the client answers requests of the server, which no user has asked for.
  const refuses = refusing();
  const answer = (): Promise<unknown> => {
    const headers = { authorization: `Bearer access-${world.tokens}` };
    const reply = { status: 403, header: (name: string) => refuses(headers)!.headers![name] };
    return authorizer.refused({ method: 'POST', url: new URL('https://mcp.example/mcp'), headers }, reply);
  };
  const errors = new Set<string>();
  const answers = async (): Promise<void> => {
    for (let n = 0; n < 100; n++) await answer().catch((error: Error) => errors.add(error.message));
  };
  vi.advanceTimersByTime(1000);
  await answers();
  expect(world.loginUrls).toHaveLength(10);
  const limit = 'https://mcp.example required 10 logins within 10 minutes; the next one is possible in';
  expect(errors).toContain(`${limit} 599 s`);
  vi.advanceTimersByTime(598_999);
  await answers();
  expect(world.loginUrls).toHaveLength(10);
  expect(errors).toContain(`${limit} 1 s`);
  vi.advanceTimersByTime(1);
  await answers();
  expect(world.loginUrls).toHaveLength(11);
});
