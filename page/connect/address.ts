import { unicodeHost } from './punycode.ts';

/** An address that somebody else asks a person to open. */
export interface Address {
  /** The whole address, as a browser would request it. */
  readonly href: string;
  /** The host and the port, in ASCII. Empty if the scheme has no host. */
  readonly host: string;
  /** What the host spells, if it has letters outside of ASCII. */
  readonly spelled?: string | undefined;
  /** Whether it is http or https. A server must not open programs or files of this machine. */
  readonly opens: boolean;
  /** What a person should know before opening it. */
  readonly warnings: readonly string[];
}

/** Undefined if the text is no absolute URL. */
export function addressOf(text: string): Address | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  const spelled = unicodeHost(url.hostname);
  const opens = url.protocol === 'https:' || url.protocol === 'http:';
  const warnings: string[] = [];
  if (!opens) warnings.push(`${url.protocol} is not http or https, so it is not opened from here.`);
  if (spelled !== undefined) warnings.push('The host has letters that can look like other letters.');
  if (url.username !== '' || url.password !== '') warnings.push('The text before the @ is not the host.');
  if (url.protocol === 'http:' && !LOOPBACK.test(url.hostname))
    warnings.push('The connection is not encrypted: others can read what you enter.');
  return { href: url.href, host: url.host, spelled, opens, warnings };
}

const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;
