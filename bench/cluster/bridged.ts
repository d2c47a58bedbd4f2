import { loadCallers } from '../http-load.ts';
import { tryCall } from '../http-calls.ts';
import { progress } from '../rows.ts';
import { sampled } from '../sample.ts';
import { add, atLeast, below } from './goals.ts';
import { bridge, connectTo, openSessions, withCluster } from './start.ts';

const CHILDREN = 4;
/** How many calls are in flight for each child. */
const FOR_EACH = 16;
const WARM_UP = 2;

/** Calls through a bridge whose child is at another process. */
export async function bridgedRows(seconds: number): Promise<void> {
  await withCluster(2, bridge, async ({ servers }) => {
    const [owner, other] = servers;
    const sessions = await openSessions(owner!, CHILDREN);
    progress('cluster, bridge: one call at a time');
    const connections = servers.map(connectTo);
    for (const session of sessions) await tryCall(session, connections[0]!);
    const took: number[][] = [[], []];
    const begun = performance.now();
    for (let end = begun + (WARM_UP + 2 * seconds) * 1000; performance.now() < end;) {
      for (const [way, connection] of connections.entries()) {
        const sent = performance.now();
        await tryCall(sessions[0]!, connection);
        if (sent > begun + WARM_UP * 1000) took[way]!.push(performance.now() - sent);
      }
    }
    for (const connection of connections) connection.close();
    const [same, through] = took.map((latencies) => sampled(latencies, seconds * 1000));
    const added = through!.p50 - same!.p50;
    const what = 'bridged call, 1 in flight';
    add(`${what}, the child at the same process`, 'everwire', '', undefined, same);
    add(`${what}, at another process`, 'everwire', `${added.toFixed(2)} ms added`, below(added, 0.5, 'ms'), through);
    for (const [where, server] of Object.entries({ 'the same process': owner!, 'another process': other! })) {
      progress(`cluster, bridge: many calls, the children at ${where}`);
      const callers = sessions.flatMap((calls) =>
        Array.from({ length: FOR_EACH }, () => ({ calls, connection: connectTo(server) })),
      );
      try {
        await loadCallers(callers, WARM_UP);
        const sample = await loadCallers(callers, seconds);
        const { perSecond } = sample;
        const target = server === other ? atLeast(perSecond, 10_000, 'req/s') : undefined;
        const shown = `${Math.round(perSecond)} req/s`;
        add(
          `bridged calls, ${callers.length} in flight, ${CHILDREN} children at ${where}`,
          'everwire',
          shown,
          target,
          sample,
        );
      } finally {
        for (const { connection } of callers) connection.close();
      }
    }
  });
}
