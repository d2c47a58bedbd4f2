import { HttpConnection } from './http-connection.ts';
import type { HttpCalls } from './http-calls.ts';
import { sampled, type Sample } from './sample.ts';

/** Repeats calls on several connections, and checks every response. */
export async function loadHttp(calls: HttpCalls, connections: number, seconds: number): Promise<Sample> {
  const latencies: number[] = [];
  const started = performance.now();
  const end = started + seconds * 1000;
  const pool = Array.from({ length: connections }, () => new HttpConnection(calls.url));
  try {
    await Promise.all(pool.map((connection) => repeat(calls, connection, end, latencies)));
  } finally {
    for (const connection of pool) connection.close();
  }
  return sampled(latencies, performance.now() - started);
}

function repeat(calls: HttpCalls, connection: HttpConnection, end: number, latencies: number[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const next = (): void => {
      const { request, expected } = calls.call();
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
