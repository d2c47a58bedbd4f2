/** What of the settings of servers no line of a log may hold. */
import type { CommandServer, UrlServer } from '../bridge/config/config.ts';

/** Shorter ones can be guessed, and could not be told from words in a log. */
export const MIN_SECRET = 8;

/** What the name of a variable has in it whose value a server would not want to see in a log: anywhere, or as a word. */
const ANYWHERE = /auth|bearer|conn(?:ection)?_?str|cookie|cred|jwt|key|mnemonic|pass|private|pwd|secret|session|token/i;
const AS_A_WORD = /(?:^|[_.-])(?:dsn|hmac|otp|pat|pem|pin|pw|salt|sas|seed|totp|webhook)(?:$|[_.\d-])/i;

/** The value of a header or a variable, and what stands in it behind the name of a scheme. */
export function secretsIn(value: string): string[] {
  return [value, value.replace(/^\S+\s+/, '')].filter((secret) => secret.length >= MIN_SECRET);
}

/**
 * The values of a server's headers, the values of variables and URL parameters whose names say that they are secrets, and
 * the passwords of URLs in any of these.
 */
export function secretsOf(
  server: Pick<UrlServer, 'kind' | 'url' | 'headers'> | Pick<CommandServer, 'kind' | 'env'>,
): string[] {
  if (server.kind === 'command') return Object.entries(server.env).flatMap(secretsOfNamed);
  const parameters = [...new URL(server.url).searchParams];
  return [...Object.values(server.headers).flatMap(secretsIn), ...parameters.flatMap(secretsOfNamed)];
}

function secretsOfNamed([name, value]: [string, string]): string[] {
  const named = ANYWHERE.test(name) || AS_A_WORD.test(name);
  return named ? [...secretsIn(value), ...passwordIn(value)] : passwordIn(value);
}

/** `postgres://ada:<password>@host/db`, as it is written and as it is meant. */
function passwordIn(value: string): string[] {
  const written = /^[a-z][a-z\d+.-]*:\/\/[^/?#@:]*:([^/?#@]+)@/i.exec(value)?.[1];
  if (written === undefined || written.length < MIN_SECRET) return [];
  try {
    return [written, decodeURIComponent(written)];
  } catch {
    return [written];
  }
}
