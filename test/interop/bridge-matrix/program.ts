import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CommandTarget } from '../../../src/client/target.ts';
import { listening, programs, startProgram, type RunningServer } from '../../support/process.ts';
import type { OfficialClient, Target } from '../clients.ts';
import { connectDownstream } from './downstreams.ts';
import { LATE_PROGRESS, SAME } from './feature.ts';
import { features } from './features.ts';
import { KINDS, type Kind } from './kinds.ts';
import { startUpstream, type Upstream } from './upstreams.ts';

const kindOf = (heading: string): Kind => KINDS.find((kind) => kind.heading === heading)!;

/**
 * Tests the `everwire` program in two cells of the matrix, one for each direction between the eras.
 *
 * @param command the runtime, with its arguments before the script
 */
export function bridgeProgram([program = process.execPath, ...args]: readonly string[] = []): void {
  describe.each([
    ['2026-07-28 stdio', '2025-11-25 HTTP'],
    ['2025-11-25 HTTP', '2026-07-28 stdio'],
  ])('everwire bridge, from a client of %s to a server of %s', (client, server) => {
    cell(kindOf(client), kindOf(server), program, args);
  });
}

function cell(down: Kind, up: Kind, program: string, args: readonly string[]): void {
  let upstream: Upstream;
  let running: RunningServer | undefined;
  let client: OfficialClient;

  beforeAll(async () => {
    upstream = await startUpstream(up);
    const { target } = upstream;
    const behind = typeof target === 'string' ? [target] : ['--', ...commandOf(target as CommandTarget)];
    const bridge = [...args, ...programs.everwire, 'bridge'];
    let place: Target = { program, stdio: [...bridge, '--stdio', ...behind], url: '', sseUrl: '' };
    if (down.transport === 'http') {
      running = await listening(startProgram(program, [...bridge, '--port', '0', ...behind]));
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
}

function commandOf({ command, args = [] }: CommandTarget): string[] {
  return [command, ...args];
}
