import { readFileSync } from 'node:fs';
import { urlProblem } from '../bridge/config/server.ts';
import type { LogFormat, LogThreshold } from '../operate/logs.ts';
import { isLoopback } from '../transport/http/guards.ts';
import type { BridgeFlags } from './bridge-options.ts';
import { Failure } from './failure.ts';
import { readHeaders } from './headers.ts';
import { listenOptions } from './options.ts';
import { MIN_SECRET } from './secrets.ts';

/** The checked options of a bridge. */
export interface BridgeSettings extends Pick<
  BridgeFlags,
  'config' | 'drainTimeout' | 'handshakeTimeout' | 'health' | 'login' | 'maxMemory' | 'serverIdleTimeout'
> {
  readonly stdio: boolean;
  readonly listen: ReturnType<typeof listenOptions>;
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  readonly access: Access;
  readonly connections: 'per-session' | 'shared' | number;
  /** Who callers without a credential are. */
  readonly anonymous: 'one-client' | 'same-user' | 'strangers';
  /** For a server with a URL. They may be secrets. */
  readonly headers: Readonly<Record<string, string>>;
  /** Seals what clients carry between rounds of a request. Undefined for a key of this process. */
  readonly stateKey: string | undefined;
  readonly metrics: 'none' | 'open' | 'gated';
  readonly log: { readonly level: LogThreshold; readonly format: LogFormat; readonly requests: boolean };
  /** Removed from every line of the log. */
  readonly secrets: readonly string[];
  /** Environment variables with secrets of the bridge. No command behind it gets them. */
  readonly ownVariables: readonly string[];
}

/** Who is let in; anyone where there are neither keys nor an issuer. */
export interface Access {
  /** Good in `Authorization`. */
  readonly tokens: readonly string[];
  /** Good in `X-API-Key` too. */
  readonly keys: readonly string[];
  readonly issuer: IssuerAccess | undefined;
}

export interface IssuerAccess {
  readonly issuer: string;
  readonly audience: string;
  readonly jwksUri: string | undefined;
  readonly resource: string;
}

/** What the process knows. */
export interface Environment {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly read: (file: string) => string;
}

const ENVIRONMENT: Environment = { env: process.env, read: (file) => readFileSync(file, 'utf8') };

const MIN_STATE_KEY = 16;
/** What may be in a token for it to survive in a header (RFC 6750, section 2.1). */
const TOKEN = /^[\w.~+/-]+=*$/;

/** @throws Failure with code 2 that names the option, and no secret. */
export function readSettings(flags: BridgeFlags, environment: Environment = ENVIRONMENT): BridgeSettings {
  checkWhereItIsServed(flags);
  const secretsOf = (option: string, words: readonly string[]): string[] =>
    words.flatMap((word) => readSecret(option, word, environment));
  const access: Access = {
    tokens: secretsOf('--bearer', flags.bearer),
    keys: secretsOf('--api-key', flags.apiKey),
    issuer: readIssuer(flags),
  };
  const guarded = access.tokens.length > 0 || access.keys.length > 0 || access.issuer !== undefined;
  if (flags.metricsAuth && !guarded) {
    throw Failure.usage('--metrics-auth needs callers that authenticate: add --bearer, --api-key or --issuer');
  }
  if (!flags.stdio && !guarded && !flags.allowUnauthenticated && !staysHere(flags.host)) {
    throw Failure.usage(
      `--host ${flags.host} lets other machines call: add --bearer, --api-key or --issuer, or --allow-unauthenticated`,
    );
  }
  const taken = [
    ...(flags.health ? ['/healthz', '/readyz'] : []),
    ...(flags.metrics || flags.metricsAuth ? ['/metrics'] : []),
  ];
  if (taken.includes(flags.path)) throw Failure.usage(`--path ${flags.path} is the path of another page of the bridge`);
  if (flags.config !== undefined && flags.header.length > 0) {
    throw Failure.usage('--header is for a server with a URL; the servers of --config have headers of their own');
  }
  const headers = readHeaders(flags.header, environment.env);
  const stateKey = readStateKey(flags.stateKey, environment);
  const { config, drainTimeout, handshakeTimeout, health, login, maxMemory, serverIdleTimeout } = flags;
  const { logLevel: level, logFormat: format, logRequests: requests = format === 'json' } = flags;
  return {
    ...{ config, drainTimeout, handshakeTimeout, health, login, maxMemory, serverIdleTimeout },
    stdio: flags.stdio ?? false,
    listen: listenOptions(flags),
    tls: readTls(flags),
    access,
    connections: readConnections(flags),
    anonymous: anonymousCallers(flags),
    headers,
    stateKey,
    metrics: flags.metricsAuth ? 'gated' : flags.metrics ? 'open' : 'none',
    log: { level, format, requests },
    secrets: [...access.tokens, ...access.keys, ...(stateKey === undefined ? [] : [stateKey])],
    ownVariables: [...flags.bearer, ...flags.apiKey, flags.stateKey ?? ''].flatMap((word) => variableIn(word) ?? []),
  };
}

/** Options that mean nothing over stdio would be taken for a protection that is not there. */
function checkWhereItIsServed(flags: BridgeFlags): void {
  if (!flags.stdio) return;
  const given: Record<string, unknown> = {
    '--tls-cert': flags.tlsCert,
    '--bearer': flags.bearer[0],
    '--api-key': flags.apiKey[0],
    '--issuer': flags.issuer,
    '--allow-origin': flags.allowOrigin[0],
    '--metrics': flags.metrics,
    '--metrics-auth': flags.metricsAuth,
  };
  for (const [option, value] of Object.entries(given)) {
    if (value !== undefined) throw Failure.usage(`${option} is for HTTP, which --stdio does not serve`);
  }
}

/** On loopback all callers are one user, unless `--allow-host` shows that a proxy forwards requests of others. */
function anonymousCallers({ stdio, host, allowHost }: BridgeFlags): BridgeSettings['anonymous'] {
  if (stdio) return 'one-client';
  return staysHere(host) && allowHost.length === 0 ? 'same-user' : 'strangers';
}

function staysHere(host: string): boolean {
  return isLoopback(host.includes(':') ? `[${host}]` : host);
}

function readTls({ tlsCert, tlsKey }: BridgeFlags): BridgeSettings['tls'] {
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert === undefined) throw Failure.usage('--tls-key needs the certificate: add --tls-cert');
  if (tlsKey === undefined) throw Failure.usage('--tls-cert needs its key: add --tls-key');
  return { cert: tlsCert, key: tlsKey };
}

function readIssuer({ issuer, audience, jwks, resource }: BridgeFlags): IssuerAccess | undefined {
  if (issuer === undefined) {
    for (const [option, value] of Object.entries({ '--audience': audience, '--jwks': jwks, '--resource': resource })) {
      if (value !== undefined) throw Failure.usage(`${option} needs the authorization server: add --issuer`);
    }
    return undefined;
  }
  if (audience === undefined) throw Failure.usage('--issuer needs the audience of its tokens: add --audience');
  const address = resource ?? audience;
  checkUrl('--issuer', issuer);
  if (jwks !== undefined) checkUrl('--jwks', jwks);
  if (resource === undefined && !/^https?:/i.test(audience)) {
    throw Failure.usage(
      '--resource is needed if --audience is not a URL: the address of the endpoint as clients see it',
    );
  }
  checkUrl('--resource', address);
  return { issuer, audience, jwksUri: jwks, resource: address };
}

function checkUrl(option: string, text: string): void {
  const problem = urlProblem(text);
  if (problem !== undefined) throw Failure.usage(`${option} ${problem}`);
}

function readConnections({ perSession, shared, pool }: BridgeFlags): BridgeSettings['connections'] {
  const given = Object.entries({ '--per-session': perSession, '--shared': shared, '--pool': pool });
  const [first, second] = given.filter(([, value]) => value !== undefined).map(([option]) => option);
  if (second !== undefined) throw Failure.usage(`${first} and ${second} cannot be used together`);
  return shared ? 'shared' : (pool ?? 'per-session');
}

/** The environment variable that a word means: `env:NAME`, or `${env:NAME}` as it is written in headers. */
function variableIn(word: string): string | undefined {
  const [, plain, bracketed] = /^(?:env:(\w+)|\$\{env:(\w+)\})$/.exec(word) ?? [];
  return plain ?? bracketed;
}

/** The secrets that a word means: itself, the lines of `@file`, or what `env:NAME` holds. */
function readSecret(option: string, word: string, { env, read }: Environment): string[] {
  const name = variableIn(word);
  let found = [word];
  let where = option;
  if (name !== undefined) {
    const value = env[name];
    if (!value) throw Failure.usage(`${option} needs the environment variable ${name}, which is not set`);
    where = `${option} in the environment variable ${name}`;
    found = [value];
  } else if (word.startsWith('@')) {
    const file = word.slice(1);
    where = `${option} in ${file}`;
    found = linesOf(option, file, read);
  }
  for (const secret of found) {
    if (secret.length < MIN_SECRET) throw Failure.usage(`${where} is too short: it must have ${MIN_SECRET} characters`);
    if (!TOKEN.test(secret)) {
      throw Failure.usage(`${where} must consist of letters, digits and -._~+/, with = only at the end`);
    }
  }
  return found;
}

/** @throws Failure where it is not one secret, or one that could be guessed. */
function readStateKey(word: string | undefined, environment: Environment): string | undefined {
  if (word === undefined) return undefined;
  const [key, ...others] = readSecret('--state-key', word, environment);
  if (others.length > 0) throw Failure.usage('--state-key must be one secret, and the file has several lines');
  if (key!.length < MIN_STATE_KEY) {
    throw Failure.usage(`--state-key is too short: it must have ${MIN_STATE_KEY} characters`);
  }
  return key;
}

function linesOf(option: string, file: string, read: Environment['read']): string[] {
  let text: string;
  try {
    text = read(file);
  } catch (error) {
    throw Failure.usage(`${option} cannot read ${file}: ${(error as NodeJS.ErrnoException).code ?? 'not a file'}`);
  }
  const lines = text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
  if (lines.length === 0) throw Failure.usage(`${option} finds no secret in ${file}`);
  return lines;
}
