import { HttpConnection } from './http-connection.ts';
import { modernRequest } from './modern-calls.ts';
import { memoryInUse, startPeer, stop } from './processes.ts';

/** Streams before the first measurement of memory. The first ones also load code and grow the heap. */
const WARM_UP = 100;
/** The number of streams that are opened at the same time. */
const AT_ONCE = 50;

export interface SubscriptionCost {
  /** The bytes above the memory that the server used with few streams. */
  readonly memory: number;
  /** Milliseconds from the request that changes the list until the last stream has the notification. */
  readonly spread: number;
}

/**
 * What the given number of open `subscriptions/listen` streams costs a server whose tool `change` changes its tools.
 */
export async function subscriptionCost(peer: string, streams: number): Promise<SubscriptionCost> {
  const { url, process: server } = await startPeer(peer);
  const open: HttpConnection[] = [];
  let heard = 0;
  let onall: (() => void) | undefined;
  const listen = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n += AT_ONCE) {
      await Promise.all(
        Array.from({ length: Math.min(AT_ONCE, count - n) }, async () => {
          const connection = new HttpConnection(url);
          open.push(connection);
          const request = modernRequest(
            url,
            open.length,
            'subscriptions/listen',
            '"notifications":{"toolsListChanged":true},',
          );
          await connection.openStream(request, 'subscriptions/acknowledged', (text) => {
            if (text.includes('tools/list_changed') && ++heard === streams) onall?.();
          });
        }),
      );
    }
  };
  const caller = new HttpConnection(url);
  try {
    await listen(WARM_UP);
    const before = await memoryInUse(server);
    await listen(streams - WARM_UP);
    const memory = (await memoryInUse(server)) - before;
    const all = new Promise<void>((resolve) => (onall = resolve));
    const started = performance.now();
    await caller.request(modernRequest(url, 'change', 'tools/call', '"name":"change","arguments":{},', 'change'));
    await all;
    return { memory, spread: performance.now() - started };
  } finally {
    for (const connection of [...open, caller]) connection.close();
    await stop(server);
  }
}
