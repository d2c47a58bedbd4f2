import { peerUrl } from '../../src/base/peer-url.ts';
import { unicodeHost } from './punycode.ts';

/** A URL that a server asks the user to open. */
export interface Address {
  /** The whole URL, as a browser would request it. */
  readonly href: string;
  /** The host and the port, in ASCII. Empty if the scheme has no host. */
  readonly host: string;
  /** The host in Unicode, if it has letters outside ASCII. */
  readonly spelled?: string | undefined;
  /** Whether it is http or https. Other URLs could open programs or files of this machine. */
  readonly opens: boolean;
  /** What the user should know before opening it. */
  readonly warnings: readonly string[];
}

/** Undefined if the text is not an absolute URL. */
export function addressOf(text: string): Address | undefined {
  const url = peerUrl(text);
  if (!url) return undefined;
  const spelled = unicodeHost(url.hostname);
  const opens = url.protocol === 'https:' || url.protocol === 'http:';
  const warnings: string[] = [];
  if (!opens) warnings.push(`This page opens only http and https URLs, not ${url.protocol}`);
  if (spelled !== undefined)
    warnings.push('The host name has letters that can look like other letters. Check it closely.');
  if (url.username !== '' || url.password !== '') warnings.push('The text before the @ is a user name, not the host.');
  if (url.protocol === 'http:' && !LOOPBACK.test(url.hostname))
    warnings.push('The connection is not encrypted: others can read what you enter.');
  return { href: url.href, host: url.host, spelled, opens, warnings };
}

const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;
