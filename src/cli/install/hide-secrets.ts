import { isPeerUrl } from '../../base/peer-url.ts';
import { scrubber } from '../../auth/scrub.ts';
import { secretsIn } from '../../auth/secrets-in.ts';
import { isObject, isStrings, type JsonObject } from '../../jsonrpc/message.ts';
import { VARIABLE } from '../hosts.ts';
import { scrubWith } from '../print-status.ts';
import { MIN_SECRET, namedSecretIn, namesSecret, secretInArgument, secretsOf } from '../secrets.ts';
import { isSecret } from './entry.ts';

/**
 * Removes the secrets of entries from the output: headers, secrets of logins, and the variables, arguments and URL parameters whose
 * names mark them as secrets. A short one is only hidden as a whole text.
 */
export function hideSecrets(servers: JsonObject, others: readonly string[] = []): void {
  const entries = Object.values(servers).filter(isObject);
  // A variable is no secret.
  const values = entries.flatMap(headersAndVariables).filter((value) => value.search(VARIABLE) < 0);
  const args = entries.flatMap(secretArguments);
  const quoted = [...values, ...args.map(([arg]) => arg)]
    .filter((value) => value !== '')
    .map((value) => JSON.stringify(value));
  const secrets = [...values, ...args.map(([, secret]) => secret)].flatMap(secretsIn);
  const scrub = scrubber([...secrets, ...entries.flatMap(otherSecrets), ...others]);
  scrubWith((text) => scrub(quoted.reduce((clean, value) => clean.replaceAll(value, '"[redacted]"'), text)));
}

/** Settings of the host next to the servers may be secrets too. */
export function withoutNamedSecret(line: string): string {
  const [, before, name, value] = /^( \s*"?([\w.-]+)"?\s*[:=]\s*)("(?:[^"\\]|\\.)*")/.exec(line) ?? [];
  return value !== undefined && namesSecret(name!) ? line.replace(before! + value, `${before}"[redacted]"`) : line;
}

/** Cursor has the client of a login in `auth`, others in `oauth`. */
function headersAndVariables({ headers, http_headers: more, env, oauth, auth }: JsonObject): string[] {
  const named = [env, oauth, auth].flatMap((each) => Object.entries(textsIn(each)).filter(isSecret));
  return [...[headers, more].flatMap((each) => Object.values(textsIn(each))), ...named.map(([, value]) => value)];
}

/** The arguments that are hidden as a whole, and the secret in each. In `TOKEN=value`, a long secret is hidden alone. */
function secretArguments({ args }: JsonObject): [arg: string, secret: string][] {
  if (!isStrings(args)) return [];
  return args.flatMap((arg, at): [string, string][] => {
    const named = namedSecretIn(arg);
    const short = named !== undefined && named.length < MIN_SECRET && named.search(VARIABLE) < 0 ? named : undefined;
    const secret = secretInArgument(arg, args[at - 1]) ?? short;
    return secret === undefined ? [] : [[arg, secret]];
  });
}

/** Secrets within arguments, such as `-e TOKEN=…`, and those of URLs. A bridge has its URL in its arguments. */
function otherSecrets({ url, serverUrl, httpUrl, args }: JsonObject): string[] {
  const words = isStrings(args) ? args : [];
  const within = secretsOf({ kind: 'command', env: {}, args: words }).filter((secret) => secret.search(VARIABLE) < 0);
  const ofUrls = [url, serverUrl, httpUrl, ...words].flatMap((each) =>
    typeof each === 'string' && isPeerUrl(each) ? secretsOf({ kind: 'url', url: each, headers: {} }) : [],
  );
  return [...within, ...ofUrls];
}

function textsIn(value: unknown): Record<string, string> {
  const entries = isObject(value) ? Object.entries(value) : [];
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}
