import { peerUrl } from '../../../base/peer-url.ts';
import { cutText } from '../../../base/short-text.ts';
import { isStrings } from '../../../jsonrpc/message.ts';
import { isLoopback } from '../../../transport/http/server/access/guards.ts';
import type { Reply } from '../exchange-log.ts';

/** How long a value of a server may be in a judgement. */
const MAX_SHOWN = 120;

/** A value of a server, for a judgement. */
export function quoted(value: unknown): string {
  return value === undefined ? 'nothing' : cutText(JSON.stringify(value), MAX_SHOWN);
}

/** Right if this is one of the strings of a list. */
export function includes(list: unknown, value: string): true | string {
  return isStrings(list) && list.includes(value) ? true : quoted(list);
}

export function isJson({ headers }: Reply): boolean {
  return /^application\/json\s*(?:;|$)/i.test(headers['content-type'] ?? '');
}

/** Right if the body is declared as JSON. */
export function declaresJson(reply: Reply): true | string {
  return isJson(reply) ? true : `content-type: ${reply.headers['content-type'] ?? 'none'}`;
}

/** Right if the URL uses https, or http on this machine. */
export function isSecure(address: unknown): boolean {
  const url = typeof address === 'string' ? peerUrl(address) : undefined;
  if (!url) return false;
  const { protocol, hostname } = url;
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}
