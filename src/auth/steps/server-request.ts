import { randomBytes } from 'node:crypto';
import { Lifetime } from '../../base/lifetime.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';
import { Meta, Method } from '../../protocol/methods.ts';
import { REVISIONS } from '../../protocol/revisions.ts';
import { parameterIn, parseChallenges } from '../../transport/http/client/www-authenticate.ts';
import { VERSION } from '../../version.ts';
import type { Reply } from './exchange-log.ts';
import type { Walk } from './walk.ts';

/** Milliseconds for a response of the server. */
const TIMEOUT = 10_000;
/** How much of a response is read, in characters. */
const MAX_BODY = 64 * 1024;

/** How often a stream is searched for an event. */
const MAX_LOOKS = 100;

const CLIENT_INFO = { name: 'everwire', version: VERSION };

/** A message to the server, and the headers that belong to it. */
export interface ServerMessage {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
}

/** The first message of a client in the revision of the walk. */
export function firstMessage({ facts: { revision } }: Walk): ServerMessage {
  if (REVISIONS[revision].era === 'modern') return modern(revision, Method.Discover, {});
  const params = { protocolVersion: revision, capabilities: {}, clientInfo: CLIENT_INFO };
  return { headers: {}, body: { jsonrpc: '2.0', id: 1, method: Method.Initialize, params } };
}

function modern(revision: string, method: string, params: JsonObject, name?: string): ServerMessage {
  const described = {
    [Meta.ProtocolVersion]: revision,
    [Meta.ClientInfo]: CLIENT_INFO,
    [Meta.ClientCapabilities]: {},
  };
  return {
    headers: {
      'mcp-protocol-version': revision,
      'mcp-method': method,
      ...(name !== undefined && { 'mcp-name': name }),
    },
    body: { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: described } },
  };
}

/**
 * Sends a message to the server, and resolves with the response.
 *
 * @param token default: none is sent.
 * @throws Error if no response comes.
 */
export async function ask(walk: Walk, { headers, body }: ServerMessage, token?: string): Promise<Reply> {
  const reply = await post(walk, headers, JSON.stringify(body), token);
  const nonce = reply.headers['dpop-nonce'];
  const isNonceMissing =
    reply.status === 401 &&
    parameterIn(parseChallenges(reply.headers['www-authenticate']), 'error') === 'use_dpop_nonce';
  if (!isNonceMissing || nonce === undefined || !walk.dpop) return reply;
  walk.dpop.keepNonce(walk.facts.endpoint.origin, nonce);
  return post(walk, headers, JSON.stringify(body), token);
}

/** Sends a message of a call. In a revision with a handshake, it needs a session of its own. */
export async function call(walk: Walk, token: string): Promise<Reply> {
  const { tool: name, args } = walk.options.call!;
  const { revision } = walk.facts;
  const params = { name, arguments: args };
  if (REVISIONS[revision].era === 'modern') return ask(walk, modern(revision, 'tools/call', params, name), token);
  const opened = await ask(walk, firstMessage(walk), token);
  if (opened.status >= 300) return opened;
  const session = opened.headers['mcp-session-id'];
  const headers = {
    ...(session !== undefined && { 'mcp-session-id': session }),
    ...(REVISIONS[revision].versionHeader && { 'mcp-protocol-version': revision }),
  };
  await ask(walk, { headers, body: { jsonrpc: '2.0', method: 'notifications/initialized' } }, token);
  const body = { jsonrpc: '2.0', id: 2, method: 'tools/call', params };
  const reply = await ask(walk, { headers, body }, token);
  await endSession(walk, opened, token);
  return reply;
}

/** Ends the session that a response has opened, if it has opened one. */
export async function endSession(walk: Walk, { headers }: Reply, token: string | undefined): Promise<void> {
  const session = headers['mcp-session-id'];
  if (session === undefined) return;
  // A server need not allow this.
  await post(walk, { 'mcp-session-id': session }, undefined, token).catch(() => {});
}

/** A token like a given one, that nobody has issued: a JWT has a wrong signature. */
export function invalidToken(token: string): string {
  const parts = token.split('.');
  const last = parts.pop()!;
  const wrong = randomBytes(Math.max(8, Math.ceil((last.length * 3) / 4)))
    .toString('base64url')
    .slice(0, Math.max(8, last.length));
  return [...(parts.length === 2 ? parts : []), wrong].join('.');
}

async function post(
  walk: Walk,
  headers: Readonly<Record<string, string>>,
  body: string | undefined,
  token: string | undefined,
): Promise<Reply> {
  const { facts, options, dpop, send, log } = walk;
  const url = new URL(facts.endpoint);
  const method = body === undefined ? 'DELETE' : 'POST';
  const bound = facts.tokens?.tokenType === 'DPoP' ? dpop : undefined;
  const cancellation = new Lifetime();
  const abort = (): void => cancellation.abort(options.signal.reason as Error);
  options.signal.addEventListener('abort', abort);
  const timer = setTimeout(() => cancellation.abort(new Error(`no answer within ${TIMEOUT} ms`)), TIMEOUT);
  try {
    options.signal.throwIfAborted();
    const reply = await send({
      ...{ method, url, cancellation },
      headers: {
        ...Object.fromEntries(
          Object.entries(options.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
        ),
        ...(body !== undefined && {
          accept: 'application/json, text/event-stream',
          'content-type': 'application/json',
        }),
        ...headers,
        ...(token !== undefined && { authorization: `${bound ? 'DPoP' : 'Bearer'} ${token}` }),
        ...(token !== undefined && bound && { dpop: await bound.proof(method, url, token) }),
      },
      ...(body !== undefined && { body }),
    });
    const { reply: seen } = log.all.findLast((each) => each.reply !== undefined)!;
    try {
      let looks = 0;
      for await (const _ of reply.chunks()) {
        const { body: text = '' } = seen!;
        if (text.length > MAX_BODY || looks > MAX_LOOKS) break;
        if (!/\n\r?\n$/.test(text.slice(-3))) continue;
        looks += 1;
        if (hasEvent(seen!)) break;
      }
    } catch {
      // The head is enough, and the log has the problem.
    }
    options.signal.throwIfAborted();
    return seen!;
  } finally {
    clearTimeout(timer);
    options.signal.removeEventListener('abort', abort);
  }
}

/** Whether a stream has an event. The server may leave the stream open after it. */
function hasEvent({ headers, body = '' }: Reply): boolean {
  return /^text\/event-stream\b/i.test(headers['content-type'] ?? '') && /^data:\s*\{[^\n]*\n\r?\n/m.test(body);
}
