import { basename, extname } from 'node:path';
import type { CommandServer, UrlServer } from '../bridge/config/config.ts';
import { urlProblem } from '../bridge/config/server.ts';
import { Failure } from './failure.ts';
import { mergeOAuth } from './oauth-options.ts';

/** The server that a command line or a configuration file names. */
export type Target = (CommandServer | UrlServer) & {
  /** Its name in the configuration file. */
  readonly name?: string;
};

/** What the command line says about a server at a URL. */
export type GivenForUrl = Pick<UrlServer, 'headers' | 'transport' | 'oauth'>;

/** Whether a word of the command line is a URL. It need not be a valid server URL. */
export function isUrl(word: string): boolean {
  return /^[a-z][a-z\d+.-]*:\/\//i.test(word);
}

/** @throws Failure with code 2 if it cannot be the URL of a server. */
export function urlTarget(url: string, { headers, transport, oauth }: GivenForUrl): UrlServer {
  const problem = urlProblem(url);
  if (problem !== undefined) throw Failure.usage(`the URL of the server ${problem}`);
  return { kind: 'url', url, headers, ...(transport && { transport }), ...mergeOAuth(undefined, oauth) };
}

/** @throws Failure with code 2 if the command is missing, or if an option is for a URL. */
export function commandTarget(
  [command, ...args]: readonly string[],
  given: GivenForUrl = { headers: {} },
): CommandServer {
  if (!command) throw Failure.usage('after -- there must be a command that starts the server');
  refuseForCommand(given);
  return { kind: 'command', command, args, env: {} };
}

/** @throws Failure with code 2 */
export function refuseForCommand({ headers, transport, oauth }: GivenForUrl): void {
  const option =
    Object.keys(headers).length > 0 ? '--header' : transport ? '--transport' : oauth && 'an option for the login';
  if (option) throw Failure.usage(`${option} is for servers with a URL, and this one is a command`);
}

/** The URL of a server without its query, which may have secrets. */
export function addressOf({ url }: Pick<UrlServer, 'url'>): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}

/** Whether the user gave credentials for a server. It then needs no login. */
export function hasCredentials({ headers }: Pick<UrlServer, 'headers'>): boolean {
  return Object.keys(headers).some((name) => name.toLowerCase() === 'authorization');
}

/**
 * The environment of a command, to be added to this process's own. Withheld variables are undefined, unless the
 * command's own settings name them.
 *
 * @param secrets variables that no command gets.
 */
export function childEnv(
  { env, withheld = [] }: CommandServer,
  secrets: readonly string[] = [],
  own: Readonly<Record<string, string | undefined>> = process.env,
  platform = process.platform,
): Record<string, string | undefined> {
  // On Windows, names are case-insensitive.
  const normalized = (name: string): string => (platform === 'win32' ? name.toUpperCase() : name);
  const unset = new Set([...secrets, ...withheld].map(normalized));
  const present = Object.keys(own).filter((name) => unset.has(normalized(name)));
  return { ...Object.fromEntries(present.map((name) => [name, undefined])), ...env };
}

/** Options of these programs that are followed by code, and not by the name of a script. */
const CODE = new Set(['-e', '--eval', '-c']);
const RUNNERS = new Set(['npx', 'bunx', 'pnpx', 'uvx', 'node', 'bun', 'deno', 'python', 'python3', 'sh', 'bash']);
/** Runners with a word between them and the script: `deno run server.ts`. */
const SUBCOMMANDS: Readonly<Record<string, readonly string[]>> = { bun: ['run', 'x'], deno: ['run', 'x'] };

/**
 * A short name for a server: its host, or the user's own name for a command, or else its package or script (not the
 * program that runs it).
 */
export function nameOf(target: Target): string {
  if (target.kind === 'url') return new URL(target.url).hostname.replace(/^\[|\]$/g, '');
  if (target.name !== undefined) return target.name;
  const { command, args } = withoutCmd(target);
  const runner = basename(command, extname(command));
  const runsScript = RUNNERS.has(runner) && !args.some((arg) => CODE.has(arg));
  const words = runsScript ? args.filter((arg) => !arg.startsWith('-')) : [];
  const script = SUBCOMMANDS[runner]?.includes(words[0]!) ? words[1] : words[0];
  // Deno names the registry of a package: `deno run npm:notes`.
  const name = basename(script ?? command)
    .replace(/^(?:npm|jsr):/, '')
    .replace(/(?<=.)@.*$/, '');
  return name.slice(0, name.length - extname(name).length) || runner;
}

/** On Windows, some hosts start scripts such as `npx` with `cmd /c`. */
function withoutCmd({ command, args }: CommandServer): Pick<CommandServer, 'command' | 'args'> {
  const [option, script, ...others] = args;
  const isCmd = /^cmd(?:\.exe)?$/i.test(basename(command)) && /^\/c$/i.test(option ?? '');
  return isCmd && script !== undefined ? { command: script, args: others } : { command, args };
}
