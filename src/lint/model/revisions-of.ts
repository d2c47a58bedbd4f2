import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { Meta, Method } from '../../protocol/methods.ts';
import { LEGACY_REVISIONS, MODERN_REVISIONS, profileOf, type Revision } from '../../protocol/revisions.ts';
import type { Conversation } from './conversation.ts';
import type { SeenRequest } from './requests.ts';
import type { Exchange } from './exchange.ts';
import type { HttpHead } from './http-head.ts';

/** All revisions, the oldest first. */
export const ALL_REVISIONS: readonly Revision[] = [...LEGACY_REVISIONS, ...MODERN_REVISIONS];

/** Where a message was seen. */
interface Where {
  readonly conversation: Conversation;
  readonly exchange: Exchange | undefined;
}

/** The revision that a client's message names, if it is known and has no handshake. */
export function modernRevisionOf(message: unknown): Revision | undefined {
  const params: unknown = isObject(message) ? message['params'] : undefined;
  const meta: unknown = isObject(params) ? params['_meta'] : undefined;
  const named: unknown = isObject(meta) ? meta[Meta.ProtocolVersion] : undefined;
  return typeof named === 'string' && profileOf(named)?.era === 'modern' ? (named as Revision) : undefined;
}

/** The revision that the header of an HTTP request names. Undefined if it is missing or not known. */
export function headerRevision(head: HttpHead): Revision | undefined {
  return profileOf(head.get('mcp-protocol-version') ?? '')?.revision;
}

/** The revisions by which a client's message may be judged. */
export function revisionsOfClient(message: JsonObject, { conversation, exchange }: Where): readonly Revision[] {
  const modern = modernRevisionOf(message);
  if (modern !== undefined) return [modern];
  const { method, params } = message;
  if (method === Method.Initialize) {
    return legacyOf(isObject(params) ? params['protocolVersion'] : undefined);
  }
  return revisionsOfRequest(exchange, conversation);
}

/** The revisions by which an HTTP request, or a message without a revision of its own, may be judged. */
export function revisionsOfRequest(
  exchange: Exchange | undefined,
  { revision, carriage, isModernServer, phase }: Conversation,
): readonly Revision[] {
  const named = exchange && headerRevision(exchange.request);
  if (named !== undefined && profileOf(named)!.era === 'modern') return [named];
  if (revision !== undefined) return [revision];
  if (named !== undefined) return [named];
  if (carriage !== 'stdio' || phase === 'initializing') return LEGACY_REVISIONS;
  return isModernServer ? MODERN_REVISIONS : ALL_REVISIONS;
}

/** The revisions by which a server's message may be judged. */
export function revisionsOfServer(
  message: JsonObject,
  { conversation, exchange }: Where,
  about: SeenRequest | undefined,
): readonly Revision[] {
  const { result } = message;
  if (about?.from === 'client' && about.method === Method.Initialize)
    return legacyOf(isObject(result) ? result['protocolVersion'] : undefined);
  const asked = about?.from === 'client' ? about.revisions : revisionsOfRequest(exchange, conversation);
  // A server of another era does not know that it is judged by this one.
  const isModern = asked.some((each) => profileOf(each)!.era === 'modern');
  return isModern && !conversation.isModernServer ? ALL_REVISIONS : asked;
}

function legacyOf(named: unknown): readonly Revision[] {
  const profile = typeof named === 'string' ? profileOf(named) : undefined;
  return profile?.era === 'legacy' ? [profile.revision] : LEGACY_REVISIONS;
}
