import { HttpConnection } from './http-connection.ts';
import type { HttpCalls } from './http-calls.ts';
import { sampled, type Sample } from './sample.ts';

/** Sends one call at a time. */
export interface HttpCaller {
  readonly calls: HttpCalls;
  readonly connection: HttpConnection;
}

/** Repeats calls on several connections, and checks every response. */
export async function loadHttp(calls: HttpCalls, connections: number, seconds: number): Promise<Sample> {
  const callers = Array.from({ length: connections }, () => ({ calls, connection: new HttpConnection(calls.url) }));
  try {
    return await loadCallers(callers, seconds);
  } finally {
    for (const { connection } of callers) connection.close();
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

/**
 * Lets callers repeat their calls in waves: the callers of one group at a time, and those of the next one when all are
 * answered. Checks every response.
 *
 * @returns the number of calls.
 */
export async function loadInWaves(groups: readonly (readonly HttpCaller[])[], seconds: number): Promise<number> {
  let count = 0;
  for (const end = performance.now() + seconds * 1000; performance.now() < end;) {
    for (const callers of groups) {
      await Promise.all(
        callers.map((caller) => new Promise<void>((resolve, reject) => callOnce(caller, resolve, reject))),
      );
      count += callers.length;
    }
  }
  return count;
}

function repeat(caller: HttpCaller, end: number, latencies: number[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const next = (): void => {
      const sent = performance.now();
      const onanswer = (): void => {
        const now = performance.now();
        latencies.push(now - sent);
        if (now < end) next();
        else resolve();
      };
      callOnce(caller, onanswer, reject);
    };
    next();
  });
}

function callOnce({ calls, connection }: HttpCaller, onanswer: () => void, onerror: (error: Error) => void): void {
  const { request, expected } = calls.call();
  connection.send(
    request,
    ({ status, body }) => {
      if (status === 200 && body.includes(expected)) onanswer();
      else onerror(new Error(`${status} ${body.slice(0, 500)}`));
    },
    onerror,
  );
}
