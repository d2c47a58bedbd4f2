import { isHeaderName, isHeaderValue } from '../protocol/header-syntax.ts';
import { Failure } from './failure.ts';
import { configured, fill, surroundings, type Surroundings } from './mcp-json.ts';
import type { CommandTarget, Target, UrlTarget } from './target.ts';

/** A command line, taken apart where a `--` begins the command that starts the server. */
export interface SplitWords {
  readonly words: string[];
  /** Undefined where there is no `--`. */
  readonly command: string[] | undefined;
}

/** Parts the words of a command line from the server's command, which is none of our business. */
export function splitCommand(words: readonly string[]): SplitWords {
  const at = words.indexOf('--');
  return at < 0
    ? { words: [...words], command: undefined }
    : { words: words.slice(0, at), command: words.slice(at + 1) };
}

export interface TargetFlags {
  readonly config?: string | undefined;
  /** `name=value` each. */
  readonly header: readonly string[];
}

/**
 * Takes the target off the front of a command's words, where it is not a command behind `--`.
 *
 * @returns the target, and the words that are left.
 * @throws Failure with code 2 where there is no target, or none that can be used.
 */
export function takeTarget(
  { words, command }: SplitWords,
  flags: TargetFlags,
  where: Surroundings = surroundings(),
): { target: Target; rest: string[] } {
  const headers = readHeaders(flags.header, where);
  const [first, ...others] = words;
  if (command === undefined && first === undefined) {
    throw Failure.usage('a target is missing: a URL, a name in mcp.json, or a command behind --');
  }
  const rest = command === undefined ? others : words;
  const target = command === undefined ? named(first!, flags.config, where) : started(command);
  if (target.kind === 'url') return { target: { ...target, headers: merge(target.headers, headers) }, rest };
  if (flags.header.length > 0) throw Failure.usage('--header is for servers with a URL, and this one is a command');
  return { target, rest };
}

function started([command, ...args]: readonly string[]): CommandTarget {
  if (!command) throw Failure.usage('behind -- stands the command that starts the server');
  return { kind: 'command', command, args, env: {} };
}

function named(text: string, config: string | undefined, where: Surroundings): Target {
  if (!/^[a-z][a-z\d+.-]*:\/\//i.test(text)) return configured(text, config, where);
  if (!/^https?:/i.test(text) || !URL.canParse(text)) {
    throw Failure.usage(`${JSON.stringify(text)} is no URL of a server: it must begin with http:// or https://`);
  }
  const { username, password } = new URL(text);
  if (username || password) throw Failure.usage('a URL must hold no credentials; use --header authorization=…');
  return { kind: 'url', url: text, headers: {} };
}

function merge(one: UrlTarget['headers'], other: UrlTarget['headers']): Record<string, string> {
  const lower = ([name, value]: [string, string]): [string, string] => [name.toLowerCase(), value];
  return Object.fromEntries([...Object.entries(one).map(lower), ...Object.entries(other).map(lower)]);
}

function readHeaders(words: readonly string[], { env }: Surroundings): Record<string, string> {
  return Object.fromEntries(
    words.map((word) => {
      // `name: value` is how curl has it.
      const [, name, text] = /^([^=:]+)(?:=|:\s*)(.*)$/s.exec(word) ?? [];
      if (name === undefined || text === undefined || !isHeaderName(name)) {
        throw Failure.usage('a header must be written name=value');
      }
      const value = fill(text, env, (problem) => Failure.usage(`the header ${name} ${problem}`));
      if (!isHeaderValue(value)) {
        throw Failure.usage(`the header ${name} holds what no header can hold`);
      }
      return [name.toLowerCase(), value];
    }),
  );
}
