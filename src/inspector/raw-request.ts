import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { tapSocket, type Wiretap } from '../transport/wiretap.ts';

/** How long a response may take, in milliseconds. */
const MAX_TIME = 60_000;

/** An HTTP request exactly as it is sent. */
export interface RawRequest {
  /** The request line and the headers, as lines. Nothing is checked. */
  readonly head: string;
  readonly body: Uint8Array;
}

/**
 * Sends an HTTP request to the host of a URL, on a connection of its own and without a proxy. Only what tells where the
 * request ends is added, if the head does not have it: `Content-Length`, and `Connection: close`. The response is for
 * the wiretap.
 *
 * @param signal ends the connection.
 * @returns when the request was sent.
 * @throws Error if the host cannot be reached.
 */
export async function sendRawRequest(
  { protocol, hostname, port }: URL,
  { head, body }: RawRequest,
  wiretap: Wiretap,
  signal: AbortSignal,
): Promise<void> {
  const isTls = protocol === 'https:';
  const host = hostname.replace(/^\[|\]$/g, '');
  const options = { host, port: Number(port) || (isTls ? 443 : 80), signal };
  const socket = isTls ? connectTls({ ...options, servername: host }) : connectTcp(options);
  socket.setTimeout(MAX_TIME, () => socket.destroy());
  await once(socket, isTls ? 'secureConnect' : 'connect');
  // The server may close the connection at any time.
  socket.on('error', () => {});
  tapSocket(wiretap, { protocol: 'http', role: 'client', peer: `${host}:${options.port}` }, socket);
  socket.resume();
  const end = setTimeout(() => socket.destroy(), MAX_TIME);
  socket.once('close', () => clearTimeout(end));
  const lines = head.split(/\r?\n/).filter((line) => line !== '');
  const has = (name: RegExp): boolean => lines.slice(1).some((line) => name.test(line));
  if (!has(/^(?:content-length|transfer-encoding)[ \t]*:/i)) lines.push(`Content-Length: ${body.length}`);
  if (!has(/^connection[ \t]*:/i)) lines.push('Connection: close');
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  socket.write(body);
}
