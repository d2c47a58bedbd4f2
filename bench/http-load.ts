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

/** Calls once for each session, on several connections. Checks every response. */
export async function callEach(sessions: readonly HttpCalls[], connections: readonly HttpConnection[]): Promise<void> {
  const rest = sessions.values();
  const each = async (connection: HttpConnection): Promise<void> => {
    for (const calls of rest)
      await new Promise<void>((resolve, reject) => callOnce({ calls, connection }, resolve, reject));
  };
  await Promise.all(connections.map(each));
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
