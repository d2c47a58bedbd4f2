import type { JsonObject, RequestId } from '../jsonrpc/message.ts';
import { Meta } from '../protocol/methods.ts';
import { profileOf, type Revision } from '../protocol/revisions.ts';
import { VERSION } from '../version.ts';
import type { HeaderChanges } from './http-peer.ts';
import { broken, RIGHT, Skip, type Outcome } from './outcome.ts';
import { shown, type Reply } from './reply.ts';

/** How long a conversation waits, and what ends it. */
export interface SessionOptions {
  readonly revision: Revision;
  readonly patience: number;
  readonly signal: AbortSignal;
}

/** How a request differs from a usual one. */
export interface RequestChanges {
  /** Default: an id that was not used before. */
  readonly id?: RequestId | undefined;
  /** Only over HTTP. */
  readonly headers?: HeaderChanges | undefined;
  /** Entries of `_meta`, from 2026-07-28 on. Default: those that every request has. */
  readonly meta?: JsonObject | undefined;
  /** How long to wait, in milliseconds. */
  readonly patience?: number | undefined;
}

/**
 * A conversation with the server, after the handshake if the revision has one. Requests may be made while others are
 * open.
 */
export abstract class RawSession<Answer extends Reply = Reply> {
  readonly revision: Revision;
  /** The result of the handshake. */
  opened: JsonObject | undefined;
  #lastId = 0;

  constructor(revision: Revision) {
    this.revision = revision;
  }

  nextId(): string {
    this.#lastId += 1;
    return `check-${this.#lastId}`;
  }

  notify(method: string, params?: JsonObject): Promise<Answer> {
    return this.say(JSON.stringify(notificationOf(this.revision, method, params)));
  }

  /** The handshake of a correct client. @throws Skip if the server refuses. */
  abstract open(): Promise<this>;
  /** Sends a request. The reply has its response, if one came. */
  abstract call(method: string, params?: JsonObject, changes?: RequestChanges): Promise<Answer>;
  /**
   * Sends a text as one message, whatever it is. The reply has what came because of it: over HTTP in the response, over
   * stdio before the server answered a request that was sent later.
   *
   * @param responses how many responses it should get. Over HTTP, reading ends with the last one. Default 1.
   */
  abstract say(text: string, responses?: number): Promise<Answer>;
}

export const CLIENT_INFO = { name: 'everwire-check', version: VERSION };

export function isModern(revision: Revision): boolean {
  return profileOf(revision)!.era === 'modern';
}

/** The `_meta` that every request has (2026-07-28, basic: _meta). */
export function metaOf(revision: string, capabilities: JsonObject = {}): JsonObject {
  return {
    [Meta.ProtocolVersion]: revision,
    [Meta.ClientInfo]: CLIENT_INFO,
    [Meta.ClientCapabilities]: capabilities,
  };
}

export function initializeParams(revision: string): JsonObject {
  return { protocolVersion: revision, capabilities: {}, clientInfo: CLIENT_INFO };
}

export function requestOf(
  revision: Revision,
  id: RequestId,
  method: string,
  params: JsonObject = {},
  meta?: JsonObject,
): JsonObject {
  const described = isModern(revision) ? { ...params, _meta: meta ?? metaOf(revision) } : params;
  return { jsonrpc: '2.0', id, method, params: described };
}

function notificationOf(revision: Revision, method: string, params?: JsonObject): JsonObject {
  const described = isModern(revision) ? { ...params, _meta: metaOf(revision) } : params;
  return { jsonrpc: '2.0', method, ...(described && { params: described }) };
}

/** The cheapest request that every server answers. */
export function heartbeatOf(revision: Revision): string {
  return isModern(revision) ? 'server/discover' : 'ping';
}

/** Whether the server still answers. */
export async function isAlive(session: RawSession): Promise<boolean> {
  const { messages } = await session.call(heartbeatOf(session.revision));
  return messages.length > 0;
}

/**
 * Right if the server still answers after it has replied to something.
 *
 * @param about added to what was seen if it does not.
 */
export async function goesOn(session: RawSession, reply: Reply, about = ''): Promise<Outcome> {
  if (await isAlive(session)) return RIGHT;
  return broken(`after that, the server did not answer the next request${about}`, reply.n);
}

/** @throws Skip if the reply has no result. */
export function resultOf(reply: Reply, what: string): JsonObject {
  const result: unknown = reply.messages.find((each) => 'result' in each)?.['result'];
  if (typeof result !== 'object' || result === null) throw new Skip(`${what} failed: ${shown(reply)}`);
  return result;
}
