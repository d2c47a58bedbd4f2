/** The parts of server settings that must not appear in a log. */
import { secretsIn } from '../auth/secrets-in.ts';
import type { CommandServer, UrlServer } from '../bridge/config/config.ts';

/** Shorter values are easy to guess, and also occur as ordinary words in a log. */
export const MIN_SECRET = 8;

/**
 * If a variable's name contains one of these words, its value is treated as a secret. The first group matches anywhere
 * in the name, the second only as a whole word.
 */
const ANYWHERE =
  /auth(?!ors?\b)|bearer|conn(?:ection)?_?str|cookie|cred|jwt|key|mnemonic|pass|private|pwd|secret|session|token/i;
const AS_A_WORD = /(?:^|[_.-])(?:dsn|hmac|otp|pat|pem|pin|pw|salt|sas|seed|totp|webhook)(?:$|[_.\d-])/i;

/** The environment variable that an option value names: `env:NAME`, or `${env:NAME}` as in headers. */
export function variableIn(word: string): string | undefined {
  const [, plain, bracketed] = /^(?:env:(\w+)|\$\{env:(\w+)\})$/.exec(word) ?? [];
  return plain ?? bracketed;
}

/**
 * The values of a server's headers, the secret of its client, the values of variables, arguments and URL parameters whose names mark them
 * as secrets, and the passwords of URLs in any of these.
 */
export function secretsOf(
  server:
    | Pick<UrlServer, 'kind' | 'url' | 'headers' | 'oauth'>
    | (Pick<CommandServer, 'kind' | 'env'> & Partial<Pick<CommandServer, 'args'>>),
): string[] {
  if (server.kind === 'command') {
    const { env, args = [] } = server;
    const given = args.flatMap((arg, index) => secretsIn(secretInArgument(arg, args[index - 1]) ?? ''));
    return [...Object.entries(env).flatMap(secretsOfNamed), ...given, ...args.flatMap(secretsOfWord)];
  }
  const parameters = [...new URL(server.url).searchParams];
  const client = secretsIn(server.oauth?.clientSecret ?? '');
  return [...Object.values(server.headers).flatMap(secretsIn), ...parameters.flatMap(secretsOfNamed), ...client];
}

/** Whether the name of a variable or an option says that its value is a secret. */
export function namesSecret(name: string): boolean {
  return ANYWHERE.test(name) || AS_A_WORD.test(name);
}

/**
 * The secret in an argument of a command, if the name of its option marks it as one.
 *
 * @param before the argument before, which may be the name of the option.
 */
export function secretInArgument(arg: string, before = ''): string | undefined {
  const [, option, value] = /^(--?[^=]+=)(.*)$/s.exec(arg) ?? [];
  if (option !== undefined) return namesSecret(option) ? value : undefined;
  const isValue = /^-(?!-no-)[^=]*$/.test(before) && !arg.startsWith('-');
  return isValue && namesSecret(before) ? arg : undefined;
}

function secretsOfNamed([name, value]: [string, string]): string[] {
  return namesSecret(name) ? [...secretsIn(value), ...passwordIn(value)] : passwordIn(value);
}

/** The secrets of a named value in an argument, and the password of a URL. */
function secretsOfWord(arg: string): string[] {
  return [...secretsOfNamed(namedIn(arg)), ...passwordIn(withoutOption(arg))];
}

/** The value in an argument such as `NAME=value`, if the name marks it as a secret. */
export function namedSecretIn(arg: string): string | undefined {
  const [name, value] = namedIn(arg);
  return namesSecret(name) ? value : undefined;
}

/** `NAME=value`, `Name: value` and `Name:value`, also as the value of an option such as `--env`. `keys:/data` is a volume. */
function namedIn(arg: string): [name: string, value: string] {
  const [, name = '', value = ''] = /^([\w.-]+)(?:=|:\s+|:(?![\s/]))(.+)$/s.exec(withoutOption(arg)) ?? [];
  return [name, value];
}

function withoutOption(arg: string): string {
  return arg.replace(/^--?[^=\s]+=/, '');
}

/** `postgres://ada:<password>@host/db`: the password as written, and percent-decoded. */
function passwordIn(value: string): string[] {
  const written = /^[a-z][a-z\d+.-]*:\/\/[^/?#@:]*:([^/?#@]+)@/i.exec(value)?.[1];
  return written === undefined || written.length < MIN_SECRET ? [] : withDecoded(written);
}

/** A secret as it is written in a URL, and percent-decoded. */
export function withDecoded(written: string): string[] {
  try {
    return [written, decodeURIComponent(written)];
  } catch {
    return [written];
  }
}
