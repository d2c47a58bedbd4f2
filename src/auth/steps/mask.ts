import { peerUrl } from '../../base/peer-url.ts';
import { printable, printableLine } from '../../base/printable.ts';
import { cutText } from '../../base/short-text.ts';
import { excessOf } from '../../jsonrpc/bounds.ts';
import { secretScrubber } from '../scrub.ts';
import type { Exchange, Reply } from './exchange-log.ts';
import type { ExchangeRecord, ResponseRecord } from './step.ts';

/** What stands for a secret, however long it is. */
const MASK = '••••••••';
/** The parameters and members whose values are secret. */
const SECRET_MEMBERS: ReadonlySet<string> = new Set([
  'access_token',
  'assertion',
  'client_assertion',
  'client_secret',
  'code',
  'code_verifier',
  'id_token',
  'password',
  'refresh_token',
  'registration_access_token',
  'subject_token',
  'token',
]);
const SECRET_HEADERS: ReadonlySet<string> = new Set(['authorization', 'cookie', 'dpop', 'proxy-authorization']);
/** The most characters of a body and of a header that are shown. */
const MAX_BODY = 16_384;
const MAX_VALUE = 2048;
/** Of a body with more keys and values, or nested deeper, only the size is shown: to mask and indent it takes long. */
const MAX_MEMBERS = 20_000;
const MAX_DEPTH = 50;

/** Makes records of exchanges, without secrets. @param secrets all that are known. */
export function maskedExchange(exchange: Exchange, secrets: readonly string[]): ExchangeRecord {
  const scrub = secretScrubber(secrets);
  const { sender, method, url, headers, body, reply, problem, duration } = exchange;
  return {
    ...{ sender, method, duration },
    url: printableLine(scrub(maskedUrl(url))),
    headers: maskedHeaders(headers, scrub),
    ...(body !== undefined && { body: maskedBody(body, headers['content-type'], scrub) }),
    ...(reply && { response: maskedReply(reply, scrub) }),
    ...(problem !== undefined && { problem: printableLine(scrub(problem)) }),
  };
}

function maskedReply({ status, headers, body }: Reply, scrub: (text: string) => string): ResponseRecord {
  return {
    status,
    headers: maskedHeaders(headers, scrub),
    ...(body !== undefined && body !== '' && { body: maskedBody(body, headers['content-type'], scrub) }),
  };
}

function maskedUrl(text: string): string {
  const url = peerUrl(text);
  // What cannot be read has no parameters that could be told apart.
  if (!url) return text.replace(/[?#][^]*$/, '?…');
  if (isSecretFragment(url.hash)) url.hash = '';
  const parameters = [...url.searchParams];
  if (!parameters.some(([name]) => SECRET_MEMBERS.has(name))) return url.href;
  // Not one by one with `set`, which takes seconds for a name that occurs many times.
  url.search = new URLSearchParams(
    parameters.map(([name, value]): [string, string] => [name, SECRET_MEMBERS.has(name) ? '********' : value]),
  ).toString();
  return url.href;
}

/** Whether a fragment has a secret, as the implicit grant of OAuth 2.0 sends it. */
function isSecretFragment(hash: string): boolean {
  return Array.from(new URLSearchParams(hash.slice(1)).keys()).some((name) => SECRET_MEMBERS.has(name));
}

function maskedHeaders(
  headers: Readonly<Record<string, string>>,
  scrub: (text: string) => string,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      const [, scheme = ''] = /^([\w-]+ )/.exec(value) ?? [];
      if (SECRET_HEADERS.has(name.toLowerCase())) return [name, `${scheme}${MASK}`];
      const shown = name.toLowerCase() === 'location' ? maskedUrl(value) : value;
      return [name, printableLine(cutText(scrub(shown), MAX_VALUE))];
    }),
  );
}

/** A body to read: JSON over several lines, a form with one parameter on each line. */
function maskedBody(body: string, type: string | undefined, scrub: (text: string) => string): string {
  return printable(cutText(scrub(withoutMembers(body, type)), MAX_BODY));
}

function withoutMembers(body: string, type = ''): string {
  if (/^application\/x-www-form-urlencoded\b/i.test(type))
    return Array.from(
      new URLSearchParams(body),
      ([name, value]) => `${name}=${SECRET_MEMBERS.has(name) ? MASK : value}`,
    ).join('\n');
  // Whoever fails may also send tokens with the wrong type, so the type is no condition.
  if (excessOf(body, MAX_DEPTH, MAX_MEMBERS)) return `(${body.length} characters)`;
  try {
    return JSON.stringify(JSON.parse(body), masked, 2);
  } catch {
    return body
      .replaceAll(/("(?:\w{0,30}token|code|client_secret)"\s{0,9}:\s{0,9}")[^"]*/g, `$1${MASK}`)
      .replaceAll(/\b((?:access|refresh|id)_token=)[^&\s]*/g, `$1${MASK}`);
  }
}

function masked(name: string, value: unknown): unknown {
  return typeof value === 'string' && SECRET_MEMBERS.has(name) ? MASK : value;
}
