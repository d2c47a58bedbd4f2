import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { errorResponse } from '../../../jsonrpc/message.ts';
import { NOT_EXECUTED } from '../not-executed.ts';
import { JSON_HEADERS, REFUSED } from './access/refusal-format.ts';
import type { HttpRefusal } from './call.ts';

/** The most unanswered requests of one connection, including the one in progress. */
const MAX_UNANSWERED = 100;
/** How long a connection that is not read any more may wait for its client to read the last responses. */
const LAST_READ_TIMEOUT_MS = 65_000;
/** How many requests of a connection have no complete answer yet. */
const unanswered = new WeakMap<Socket, number>();
/** Connections that close after their pending responses. */
const ending = new WeakSet<Socket>();

/**
 * Counts a request of a connection. Returns whether it may run. The first one beyond the limit is refused: the connection
 * is not read any more, and closes after its responses.
 */
export function admitPipelined(
  { socket }: IncomingMessage,
  response: ServerResponse,
  onrefusal: (refusal: HttpRefusal) => void,
): boolean {
  // A request after the last response of a connection could not be answered, so it must not run.
  if (ending.has(socket)) return false;
  const before = unanswered.get(socket) ?? 0;
  unanswered.set(socket, before + 1);
  response.once('close', () => unanswered.set(socket, (unanswered.get(socket) ?? 1) - 1));
  if (before < MAX_UNANSWERED) return true;
  ending.add(socket);
  socket.pause();
  // `node:http` reads on after each response. A hundred responses would let a client send thousands of requests, each of
  // which stays in memory until the connection closes.
  socket.on('resume', () => socket.pause());
  // If a socket is not read, it does not show that its client has left.
  socket.setTimeout(LAST_READ_TIMEOUT_MS);
  onrefusal({ reason: 'pipelining', status: 503 });
  const message = `More than ${MAX_UNANSWERED} requests of this connection wait for their answers to be read`;
  response.writeHead(503, { ...JSON_HEADERS, 'retry-after': '1', connection: 'close' });
  response.end(JSON.stringify(errorResponse(undefined, { code: REFUSED, message, data: NOT_EXECUTED })));
  return false;
}
