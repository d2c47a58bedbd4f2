import { expect, test } from 'vitest';
import { ISSUER, OAuthWorld, send } from '../../../test/support/oauth-world.ts';

test('an authorization endpoint with many parameters is prepared at once', async () => {
  const world = new OAuthWorld();
  world.issuer(ISSUER, { authorization_endpoint: `${ISSUER}/authorize?${'state=1&'.repeat(8000)}` });
  const before = process.cpuUsage();
  expect((await send(world.authorizer())).let).toBe(true);
  expect(process.cpuUsage(before).user).toBeLessThan(1_000_000);
});
