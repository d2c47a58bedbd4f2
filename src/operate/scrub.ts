import { redacted } from '../auth/redact.ts';

const REDACTED = '[redacted]';
/** What follows the name of a scheme in `Authorization` (RFC 9110, section 11.4). */
const CREDENTIALS = /\b(bearer|basic|dpop)(\s+)[\w.~+/-]{8,}=*/gi;
/** A URL from its scheme on, which is short: what begins a word at each of many dots must not be read to its end each time. */
const URLS = /\b[a-z][a-z\d+.-]{0,20}:\/\/[^\s"'<>`]+/gi;

/** Makes a function that takes credentials out of a text: those that are known, and what has the look of one. */
export function scrubber(secrets: readonly string[]): (text: string) => string {
  // The longest first: one may be part of another.
  const known = [...new Set(secrets)].toSorted((a, b) => b.length - a.length);
  return (text) => {
    let clean = text;
    for (const secret of known) clean = redacted(clean, secret);
    return clean.replace(URLS, withoutSecrets).replace(CREDENTIALS, `$1$2${REDACTED}`);
  };
}

/** The query of a URL holds whatever its maker wanted to say, tokens among it; before the host there may be a password. */
function withoutSecrets(url: string): string {
  return url.replace(/^([a-z][a-z\d+.-]*:\/\/)[^/?#@]*@/i, `$1${REDACTED}@`).replace(/\?[^#]*/, `?${REDACTED}`);
}
