import { shortJson } from '../../../base/short-text.ts';
import { Refusal } from '../../../core/refusal.ts';
import { isObject, type JsonObject, type Notification, type Request } from '../../../jsonrpc/message.ts';
import type { Caller } from '../../../core/exchange.ts';
import { McpErrorCode } from '../../../protocol/errors.ts';
import { isLogLevel, type LogLevel } from '../../../protocol/logging.ts';
import { Meta } from '../../../protocol/methods.ts';
import { profileOf, type Revision } from '../../../protocol/revisions.ts';
import { saysItsRevision } from '../../../protocol/own-revision.ts';
import type { AuthInfo, Implementation } from '../../../protocol/types.ts';
import type { MessageExtra } from '../../../transport/transport.ts';
import { isTooLarge, MAX_DESCRIPTION } from '../../client-description.ts';
import { checkHeaders, checkVersionHeader } from '../translate/headers.ts';

/** The sender of a request, as the request itself describes it. */
class RequestCaller implements Caller {
  readonly revision: Revision;
  readonly clientInfo: Implementation | undefined;
  readonly capabilities: JsonObject;
  readonly logLevel: LogLevel | undefined;
  readonly principal: string | undefined;
  readonly auth: AuthInfo | undefined;
  readonly address: string | undefined;
  readonly session: undefined;

  constructor(revision: Revision, meta: JsonObject, extra: MessageExtra | undefined) {
    this.revision = revision;
    this.clientInfo = meta[Meta.ClientInfo];
    this.capabilities = meta[Meta.ClientCapabilities];
    this.logLevel = meta[Meta.LogLevel];
    this.principal = extra?.principal;
    this.auth = extra?.auth;
    this.address = extra?.address;
  }
}

/**
 * Reads the sender and the revision of a message (2026-07-28, basic: Per-request protocol fields). Over HTTP, the
 * headers must match the body.
 *
 * @param supported the revisions that are served here, listed in the error for any other revision.
 * @throws Refusal if the message is malformed, its headers contradict it, or its revision is not served.
 */
export function readCaller(
  message: Request | Notification,
  extra: MessageExtra | undefined,
  supported: readonly string[],
): Caller {
  const meta: unknown = message.params?.['_meta'];
  const named = extra?.header?.('mcp-protocol-version');
  // A client that has done a handshake names its revision only in the header. Only this error tells it that the server
  // has changed.
  if (named !== undefined && !saysItsRevision(message) && !isServed(named, supported)) {
    throw unsupportedVersion(named, supported);
  }
  if (!isObject(meta)) {
    throw Refusal.params(`"_meta" must contain ${Meta.ProtocolVersion} and ${Meta.ClientCapabilities}`);
  }
  const requested: unknown = meta[Meta.ProtocolVersion];
  if (typeof requested !== 'string') throw Refusal.params(`"_meta" must have a string ${Meta.ProtocolVersion}`);
  if (extra?.header) checkVersionHeader(extra.header, requested);
  if (!isServed(requested, supported)) throw unsupportedVersion(requested, supported);
  if (!isObject(meta[Meta.ClientCapabilities])) {
    throw Refusal.params(`"_meta" must have an object ${Meta.ClientCapabilities}`);
  }
  const info: unknown = meta[Meta.ClientInfo];
  if (info !== undefined && !isImplementation(info)) {
    throw Refusal.params(`${Meta.ClientInfo} in "_meta" must have a string "name" and a string "version"`);
  }
  if (isTooLarge(meta[Meta.ClientCapabilities], info)) {
    const members = `${Meta.ClientCapabilities} and ${Meta.ClientInfo}`;
    throw Refusal.params(`${members} in "_meta" are larger than ${MAX_DESCRIPTION} bytes in memory`);
  }
  const level: unknown = meta[Meta.LogLevel];
  if (level !== undefined && !isLogLevel(level)) {
    throw Refusal.params(`unknown log level ${shortJson(level)} in ${Meta.LogLevel}`);
  }
  if (extra?.header && 'id' in message) checkHeaders(extra.header, message);
  return new RequestCaller(requested, meta, extra);
}

function isServed(revision: string, supported: readonly string[]): revision is Revision {
  return profileOf(revision)?.era === 'modern' && supported.includes(revision);
}

/** 2026-07-28, versioning: Protocol Version Negotiation. */
export function unsupportedVersion(requested: unknown, supported: readonly string[], hint = ''): Refusal {
  return new Refusal(
    McpErrorCode.UnsupportedProtocolVersion,
    `Unsupported protocol version ${shortJson(requested)}: this server speaks ${supported.join(', ')}${hint}`,
    { data: { supported, requested: typeof requested === 'string' ? requested : JSON.stringify(requested ?? null) } },
  );
}

function isImplementation(value: unknown): value is Implementation {
  return isObject(value) && typeof value['name'] === 'string' && typeof value['version'] === 'string';
}
