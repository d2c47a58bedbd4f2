import type { UrlServer } from '../bridge/config/config.ts';
import { Failure } from './failure.ts';
import { readGiven } from './given-for-url.ts';
import { configured } from './mcp-json.ts';
import { mergeOAuth } from './oauth-options.ts';
import type { TargetFlags } from './options.ts';
import { surroundings, type Surroundings } from './surroundings.ts';
import { commandTarget, isUrl, refuseForCommand, urlTarget, type Target } from './target.ts';

/** A command line, split at the `--` before the command that starts the server. */
export interface SplitWords {
  readonly words: string[];
  /** Undefined if there is no `--`. */
  readonly command: string[] | undefined;
}

export function splitCommand(words: readonly string[]): SplitWords {
  const at = words.indexOf('--');
  return at < 0
    ? { words: [...words], command: undefined }
    : { words: words.slice(0, at), command: words.slice(at + 1) };
}

/**
 * Takes the target of a command: the words after `--`, or else its first word.
 *
 * @returns the target, and the remaining words.
 * @throws Failure with code 2 if there is no target, or if it cannot be used.
 */
export function takeTarget(
  { words, command }: SplitWords,
  flags: Omit<TargetFlags, 'login' | 'record'>,
  where: Surroundings = surroundings(),
): { target: Target; rest: string[] } {
  const given = readGiven(flags, where.env);
  if (command !== undefined) return { target: commandTarget(command, given), rest: words };
  const [first, ...rest] = words;
  if (first === undefined) {
    throw Failure.usage('a target is missing: a URL, a name in mcp.json, or -- and a command');
  }
  if (isUrl(first)) return { target: urlTarget(first, given), rest };
  const target = configured(first, flags.config, where);
  if (target.kind === 'url') {
    const headers = merge(target.headers, given.headers);
    return { target: { ...target, ...given, headers, ...mergeOAuth(target.oauth, given.oauth) }, rest };
  }
  refuseForCommand(given);
  return { target, rest };
}

function merge(one: UrlServer['headers'], other: UrlServer['headers']): Record<string, string> {
  const lower = Object.entries(one).map(([name, value]) => [name.toLowerCase(), value]);
  return { ...Object.fromEntries(lower), ...other };
}
