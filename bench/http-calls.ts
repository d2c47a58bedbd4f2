import type { HttpConnection } from './http-connection.ts';

/** The request that a benchmark repeats. */
export interface HttpCalls {
  readonly url: URL;
  /** The bytes of one request, and a text that its response contains. */
  call(): { request: string; expected: string };
}

export function post({ pathname, host }: URL, headers: string, body: string): string {
  return (
    `POST ${pathname} HTTP/1.1\r\nhost: ${host}\r\naccept: application/json, text/event-stream\r\n` +
    `content-type: application/json\r\ncontent-length: ${body.length}\r\n${headers}\r\n${body}`
  );
}

/**
 * Checks that a server answers one such call before the load starts.
 *
 * @throws Error if it does not
 */
export async function tryCall(calls: HttpCalls, connection: HttpConnection): Promise<void> {
  const { request, expected } = calls.call();
  const { status, body } = await connection.request(request);
  if (status !== 200 || !body.includes(expected)) throw new Error(`${status} ${body.slice(0, 500)}`);
}
