import { HttpConnection } from './http-connection.ts';
import type { HttpCalls } from './http-calls.ts';
import { sampled, type Sample } from './sample.ts';

/** Sends one call at a time, over its connections in turns. */
export interface HttpCaller {
  /** One for all connections, or one for each. */
  readonly calls: HttpCalls | readonly HttpCalls[];
  readonly connections: readonly HttpConnection[];
}

/** Repeats calls on several connections, and checks every response. */
export async function loadHttp(calls: HttpCalls, connections: number, seconds: number): Promise<Sample> {
  const callers = Array.from({ length: connections }, () => ({ calls, connections: [new HttpConnection(calls.url)] }));
  try {
    return await loadCallers(callers, seconds);
  } finally {
    for (const { connections: used } of callers) for (const connection of used) connection.close();
  }
}

/** Lets callers repeat their calls, all at the same time, and checks every response. */
export async function loadCallers(callers: readonly HttpCaller[], seconds: number): Promise<Sample> {
  const latencies: number[] = [];
  const started = performance.now();
  const end = started + seconds * 1000;
  await Promise.all(callers.map((caller) => repeat(caller, end, latencies)));
  return sampled(latencies, performance.now() - started);
}

function repeat({ calls, connections }: HttpCaller, end: number, latencies: number[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const callsAt = connections.map((_, at) => ('call' in calls ? calls : calls[at]!));
    let turn = 0;
    const next = (): void => {
      const at = turn++ % connections.length;
      const { request, expected } = callsAt[at]!.call();
      const connection = connections[at]!;
      const sent = performance.now();
      connection.send(
        request,
        ({ status, body }) => {
          const now = performance.now();
          if (status !== 200 || !body.includes(expected)) return reject(new Error(`${status} ${body.slice(0, 500)}`));
          latencies.push(now - sent);
          if (now < end) next();
          else resolve();
        },
        reject,
      );
    };
    next();
  });
}
