import { headerProblem } from '../../bridge/config/server.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';
import { VERSION } from '../../version.ts';
import { Failure } from '../failure.ts';
import { splitHeader } from '../headers.ts';
import { VARIABLE, type Host } from '../hosts.ts';
import { namesSecret, secretsOf } from '../secrets.ts';
import { refuseForCommand } from '../target.ts';

/** What the user wants to add to a host. */
export interface Wanted {
  /** Either a URL, or a command with its arguments. */
  readonly url?: string;
  readonly command?: readonly string[];
  /** `Name: value` each. */
  readonly header: readonly string[];
  /** `NAME=value` each. */
  readonly env: readonly string[];
  /** Whether a command with a bridge is written for a URL. */
  readonly bridge: boolean;
  /** Whether the file is only read on Windows. */
  readonly onWindows: boolean;
}

/** An entry for a host, and the same entry for people to read. */
export interface HostEntry {
  readonly entry: JsonObject;
  /** Without secrets. */
  readonly shown: JsonObject;
}

type Strings = Readonly<Record<string, string>>;

/** The commands that are scripts on Windows. */
const SCRIPTS = new Set(['npx', 'npm', 'pnpm', 'pnpx', 'yarn', 'everwire']);
/** What `cmd` interprets, and the script that it starts interprets again, so that no escape is safe. */
const CMD_SYNTAX = /[&|<>^"]|%\w+%/;
const MASKED = '[redacted]';

/**
 * Makes the entry of a server, in the form that the host reads.
 *
 * @throws Failure with code 2 if the host cannot use it. The message contains no values of headers and variables.
 */
export function entryFor(host: Host, wanted: Wanted): HostEntry {
  const headers = readHeaders(wanted.header);
  const env = readEnv(wanted.env);
  const entry = (headersOf: Strings, envOf: Strings): JsonObject => {
    if (wanted.url === undefined) return commandEntry(host, wanted.command!, envOf, wanted);
    if (host.url && !wanted.bridge) return urlEntry(host, host.url(wanted.url), headersOf);
    return bridgeEntry(host, wanted.url, headersOf, envOf, wanted);
  };
  if (wanted.url === undefined) refuseForCommand({ headers });
  if (wanted.url === undefined && wanted.bridge) throw Failure.usage('--bridge is for servers with a URL');
  if (wanted.url !== undefined && host.url && !wanted.bridge && wanted.env.length > 0) {
    throw Failure.usage(`--env is for commands, and ${host.title} connects to this URL itself`);
  }
  return {
    entry: entry(headers, env),
    shown: entry(
      masked(headers, () => true),
      masked(env, isSecret),
    ),
  };
}

function urlEntry(host: Host, entry: JsonObject, headers: Strings): JsonObject {
  if (Object.keys(headers).length === 0) return entry;
  const own = host.headers ?? ((given: Strings) => ({ headers: translated(host, '--header', given) }));
  return { ...entry, ...own(headers) };
}

function commandEntry(
  host: Host,
  [command = '', ...args]: readonly string[],
  env: Strings,
  { onWindows }: Wanted,
): JsonObject {
  const wrapped = host.needsCmd && onWindows && (SCRIPTS.has(command) || /\.(?:cmd|bat)$/i.test(command));
  if (wrapped) refuseForCmd(host, [command, ...args]);
  const variables = translated(host, '--env', env);
  return {
    ...(host.commandType && { type: host.commandType }),
    ...(wrapped ? { command: 'cmd', args: ['/c', command, ...args] } : { command, args }),
    ...(Object.keys(variables).length > 0 && { env: variables }),
  };
}

/** The message does not quote the argument, which may be a secret. */
function refuseForCmd({ title }: Host, words: readonly string[]): void {
  const [found] = words.flatMap((word) => CMD_SYNTAX.exec(word) ?? []);
  if (found === undefined) return;
  throw Failure.usage(
    `${title} starts this command with cmd, which would interpret ${found} in an argument: ` +
      'name a program, such as node, with the path of its script',
  );
}

/**
 * A host starts the version that made the entry: another one would be downloaded when the user does not expect it. The
 * headers of a bridge are in its environment, because other users of the machine can see command lines.
 */
function bridgeEntry(host: Host, url: string, headers: Strings, env: Strings, wanted: Wanted): JsonObject {
  const [first] = Object.keys(headers);
  if (first !== undefined && host.variable) {
    // The host would fill in the variables of the arguments, from its own environment.
    throw Failure.usage(`--header cannot be used with --bridge for ${host.title}, which sends headers itself`);
  }
  const variables: Record<string, string> = { ...env };
  const options = Object.entries(headers).flatMap(([name, value]) => {
    const named = Array.from(value.matchAll(VARIABLE), ([, variable]) => variable!);
    const missing = named.find((variable) => !Object.hasOwn(env, variable));
    if (missing !== undefined) {
      throw Failure.usage(`--header ${name} needs --env ${missing}=…, because ${host.title} starts the bridge`);
    }
    if (named.length > 0) return ['--header', `${name}: ${value}`];
    const variable = `HEADER_${name.toUpperCase().replaceAll(/[^A-Z\d]/g, '_')}`;
    variables[variable] = value;
    return ['--header', `${name}: \${env:${variable}}`];
  });
  const command = ['npx', '-y', `everwire@${VERSION}`, 'bridge', '--stdio', ...options, url];
  return commandEntry(host, command, variables, wanted);
}

/** Writes the variables as the host reads them. @param option that has the values. */
function translated(host: Host, option: string, values: Strings): Strings {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      value.replace(VARIABLE, (_, variable: string, otherwise: string | undefined) => {
        if (!host.variable) {
          const advice =
            option === '--env'
              ? `: write its value, as in --env "${name}=$${variable}"`
              : host.url
                ? ': add --bridge, which does, and --env'
                : '';
          throw Failure.usage(`${host.title} does not fill in the variable of ${option} ${name}${advice}`);
        }
        if (otherwise !== undefined) throw Failure.usage(`the variable of ${option} ${name} must not have a default`);
        return host.variable(variable);
      }),
    ]),
  );
}

function readHeaders(words: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    words.map((word) => {
      const [name, text] = splitHeader(word);
      const value = text.trim();
      const problem = headerProblem(name, value);
      if (problem !== undefined) throw Failure.usage(`--header ${name} ${problem}`);
      return [name, value];
    }),
  );
}

function readEnv(words: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    words.map((word) => {
      const [, name, value] = /^([A-Za-z_]\w*)=([^\0]*)$/s.exec(word) ?? [];
      if (name === undefined || value === undefined) throw Failure.usage('--env must be written NAME=value');
      return [name, value];
    }),
  );
}

/** Whether a variable has a secret: its name says so, or its value is a URL with a password. */
export function isSecret([name, value]: [string, string]): boolean {
  return namesSecret(name) || secretsOf({ kind: 'command', env: { [name]: value } }).length > 0;
}

/** The same values, but secrets are not shown. Variables are no secrets. */
function masked(values: Strings, secret: (entry: [string, string]) => boolean): Strings {
  return Object.fromEntries(
    Object.entries(values).map((entry) =>
      secret(entry) && entry[1].search(VARIABLE) < 0 ? [entry[0], MASKED] : entry,
    ),
  );
}
