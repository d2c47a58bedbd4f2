import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CommandTarget } from '../../../src/client/target.ts';
import { programs, startServer, type RunningServer } from '../../support/process.ts';
import type { OfficialClient, Target } from '../clients.ts';
import { connectDownstream } from './downstreams.ts';
import { LATE_PROGRESS, SAME } from './feature.ts';
import { features } from './features.ts';
import { KINDS, type Kind } from './kinds.ts';
import { startUpstream, type Upstream } from './upstreams.ts';

const kindOf = (heading: string): Kind => KINDS.find((kind) => kind.heading === heading)!;

/** The `everwire` program in two cells of the matrix, one for each direction between the eras. */
describe.each([
  ['2026-07-28 stdio', '2025-11-25 HTTP'],
  ['2025-11-25 HTTP', '2026-07-28 stdio'],
])('everwire bridge, from a client of %s to a server of %s', (client_, server_) => {
  const [down, up] = [kindOf(client_), kindOf(server_)];
  let upstream: Upstream;
  let running: RunningServer | undefined;
  let client: OfficialClient;

  beforeAll(async () => {
    upstream = await startUpstream(up);
    const { target } = upstream;
    const behind = typeof target === 'string' ? [target] : ['--', ...commandOf(target as CommandTarget)];
    let place: Target = { stdio: [...programs.everwire, 'bridge', '--stdio', ...behind], url: '', sseUrl: '' };
    if (down.transport === 'http') {
      running = await startServer([...programs.everwire, 'bridge', '--port', '0', ...behind]);
      place = { ...place, url: running.url };
    }
    client = await connectDownstream(down, place);
  });

  afterAll(async () => {
    await client?.close();
    await running?.stop();
    await upstream?.stop();
  });

  for (const { name, arrives, run } of features) {
    const outcome = arrives(down, up);
    if (outcome === undefined) continue;
    test(outcome === SAME ? name : `${name}: ${outcome}`, () =>
      run({ client, world: upstream.world, down, up }, outcome),
    );
  }

  test('the client reports no error', () => {
    const messages = client.errors.map(({ message }) => message);
    expect(messages.filter((message) => !LATE_PROGRESS.test(message))).toEqual([]);
  });
});

function commandOf({ command, args = [] }: CommandTarget): string[] {
  return [command, ...args];
}
