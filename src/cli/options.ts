import { InvalidArgumentError, Option, type Command } from 'commander';
import { peerUrl } from '../base/peer-url.ts';
import type { UrlServer } from '../bridge/config/config.ts';
import { thisWorker } from './cluster/this-worker.ts';
import { STATE_KEY_VARIABLE } from './read-secret.ts';

/** The options of every command that serves. Times are in milliseconds. */
export interface ServeFlags {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly stdio?: boolean;
  readonly allowHost: readonly string[];
  readonly allowOrigin: readonly string[];
  readonly maxSessions: number;
  readonly idleTimeout: number;
  readonly record?: string;
  readonly stateKey?: string;
  /** The directory of the state. */
  readonly store?: string;
  /** How many processes serve. Default 1. */
  readonly workers?: number;
}

/** The options of every command that connects to a server. */
export interface TargetFlags {
  readonly config?: string;
  /** `Name: value` each. */
  readonly header: readonly string[];
  readonly transport?: keyof typeof TRANSPORTS;
  readonly clientId?: string;
  /** `@file` or `env:NAME`. */
  readonly clientSecret?: string;
  readonly scope: readonly string[];
  readonly callbackPort?: number;
  /** Whether a browser may be opened if the server requires a login. */
  readonly login: boolean;
  /** The file to record to. */
  readonly record?: string;
}

/** The options of `everwire login`. */
export interface LoginFlags extends Omit<TargetFlags, 'login' | 'record'> {
  /** Whether to open a browser. */
  readonly open: boolean;
}

/** The names of transports in a configuration file, and in the library. */
const TRANSPORTS = { 'streamable-http': 'http', sse: 'sse' } as const;

/** The transport that `--transport` names. */
export function transportIn({ transport }: Pick<TargetFlags, 'transport'>): Pick<UrlServer, 'transport'> {
  return transport === undefined ? {} : { transport: TRANSPORTS[transport] };
}

/** What `--config` is for, in commands whose target may be a name. */
export const NAMES_IN_CONFIG =
  'look up server names in this file (default: ./mcp.json, then the files of other MCP hosts)';

/** Adds the options for where a command serves. */
export function withAddressOptions(command: Command): Command {
  return command
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .addOption(new Option('--port <number>', 'port to listen on; 0 picks a free one').default(8000).argParser(port))
    .addOption(new Option('--path <path>', 'path of the Streamable HTTP endpoint').default('/mcp').argParser(path))
    .addOption(
      // Over stdio these options would protect nothing, but the user would believe that they do.
      new Option('--stdio', 'serve one client over stdin and stdout instead of HTTP').conflicts([
        ...['tlsCert', 'bearer', 'apiKey', 'issuer', 'allowOrigin', 'metrics', 'metricsAuth'],
      ]),
    )
    .addOption(repeatable('--allow-host <host>', 'accept this Host header in addition to loopback'))
    .addOption(
      repeatable(
        '--allow-origin <origin>',
        'accept this Origin in addition to loopback, and let its pages read responses (CORS)',
        origin,
      ),
    );
}

/** Adds the options for the sessions of a command that serves. @param most what `--max-sessions` limits. */
export function withSessionOptions(command: Command, maxSessions: number, most: string): Command {
  return command
    .addOption(new Option('--max-sessions <number>', most).default(maxSessions).argParser(positive))
    .addOption(
      seconds('--idle-timeout <seconds>', 'end a session after this long without messages and connections', 1800),
    );
}

/** Adds the option for the key that outlives the process. */
export function withStateKeyOption(command: Command): Command {
  return command.addOption(
    new Option('--state-key <secret>', 'key for state that must survive a restart; may be @file or env:NAME').env(
      STATE_KEY_VARIABLE,
    ),
  );
}

/** Adds the option for what outlives the process. */
export function withStoreOption(command: Command): Command {
  return command.addOption(
    new Option(
      '--store <place>',
      'keep sessions, streams and tasks in this directory (needs lmdb) or redis:// URL (needs @redis/client); may be env:NAME',
    ).conflicts('stdio'),
  );
}

/** Adds the option for several processes on one port. */
export function withWorkersOption(command: Command): Command {
  return command.addOption(
    new Option('--workers <number>', 'serve with this many processes on one port; needs --store with a redis:// URL')
      .default(1)
      .argParser(workers),
  );
}

/** Adds the option that records what passes over all connections of a command. */
export function withRecordOption(command: Command): Command {
  return command.option(
    '--record <file>',
    'record every byte on the wire to this file; credentials in HTTP headers are masked',
  );
}

/** @param config what `--config` is for. */
export function withTargetOptions(command: Command, config: string): Command {
  return withServerOptions(command, config).option(
    '--no-login',
    'do not open a browser if a server at a URL requires a login',
  );
}

/** The same, without `--no-login`. */
export function withServerOptions(command: Command, config: string): Command {
  command
    .option('--config <file>', config)
    .addOption(headerOption())
    .addOption(
      new Option(
        '--transport <transport>',
        'use only this transport for a server at a URL (default: detected)',
      ).choices(Object.keys(TRANSPORTS)),
    );
  return withLoginOptions(command);
}

/** Adds the options for logins. */
export function withLoginOptions(command: Command): Command {
  return withRegisteredClient(command)
    .addOption(repeatable('--scope <scope>', 'request this scope at a login, instead of those that the server offers'))
    .addOption(
      new Option(
        '--callback-port <number>',
        'port that the browser returns to after a login, at http://localhost:<port>/callback (default: a free one)',
      ).argParser(callbackPort),
    );
}

export function headerOption(): Option {
  return repeatable(
    '--header <header>',
    "send this 'Name: value' header to a server at a URL; ${env:NAME} is replaced",
  );
}

/** Adds the options for a client that is registered at an authorization server. */
export function withRegisteredClient(command: Command): Command {
  return command
    .option('--client-id <id>', 'the client for logins, if it is registered at the authorization server')
    .option('--client-secret <secret>', 'secret of this client: @file or env:NAME');
}

/** The same options, in the form that `listen` of `everwire/http` takes. */
export function listenOptions(flags: ServeFlags) {
  const { host, port: at, path: endpoint, allowHost, allowOrigin, maxSessions, idleTimeout } = flags;
  return {
    ...{ host, port: at, path: endpoint, maxSessions, idleTimeout, accepted: thisWorker?.connections },
    allowedHosts: allowHost,
    allowedOrigins: allowOrigin,
  };
}

/** An option that may be given several times, with one value each time. */
export function repeatable(flags: string, description: string, parse = (text: string): string => text): Option {
  return new Option(flags, `${description}; may be repeated`)
    .default([], 'none')
    .argParser((text, earlier: string[]) => [...earlier, parse(text)]);
}

/** The most seconds that a timer can wait. */
const MAX_SECONDS = 2_000_000;

/** An option in seconds. Its value is converted to milliseconds. */
export function seconds(flags: string, description: string, usual?: number): Option {
  const option = new Option(flags, description).argParser((text) => {
    const value = Number(text);
    if (!/^\d+(\.\d+)?$/.test(text) || value <= 0 || value > MAX_SECONDS) {
      throw new InvalidArgumentError(`It must be a number of seconds, up to ${MAX_SECONDS}.`);
    }
    return value * 1000;
  });
  return usual === undefined ? option : option.default(usual * 1000, String(usual));
}

export function positive(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It must be a positive whole number.');
  return Number(text);
}

export function port(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value > 65_535) throw new InvalidArgumentError('It must be a number from 0 to 65535.');
  return value;
}

/** The most processes: more would be a mistake. */
const MAX_WORKERS = 128;

function workers(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value === 0 || value > MAX_WORKERS)
    throw new InvalidArgumentError(`It must be a number from 1 to ${MAX_WORKERS}.`);
  return value;
}

function callbackPort(text: string): number {
  const value = port(text);
  if (value === 0) throw new InvalidArgumentError('It must be a number from 1 to 65535.');
  return value;
}

function path(text: string): string {
  if (!/^\/[\w\-./~%]*$/.test(text)) throw new InvalidArgumentError('It must begin with a slash and have no query.');
  if (text === '/sse' || text === '/messages')
    throw new InvalidArgumentError('This path belongs to the HTTP+SSE transport.');
  return text;
}

function origin(text: string): string {
  // Browser and editor extensions have their own URL schemes.
  if (text === '*' || /^[a-z][a-z\d+.-]*:\/\/[^\s/?#@]+\/?$/i.test(text)) return text;
  throw new InvalidArgumentError('It must be like https://app.example, or *.');
}

/** The address of a Client ID Metadata Document (2026-07-28, client-registration: Implementation Requirements). */
export function documentUrl(text: string): string {
  const url = peerUrl(text);
  if (url?.protocol !== 'https:' || url.pathname === '/' || url.hash !== '')
    throw new InvalidArgumentError('It must be an https URL with a path and without a fragment.');
  return text;
}
