import { peerUrl } from '../base/peer-url.ts';
import type { BearerAuthOptions } from '../auth/bearer.ts';
import { urlProblem } from '../bridge/config/server.ts';
import type { ToolSelection } from '../bridge/fleet/selection.ts';
import type { LogFormat, LogThreshold } from '../operate/logs.ts';
import { isLoopback } from '../transport/http/server/access/guards.ts';
import type { Breakpoints } from '../inspect/breakpoints/breakpoints.ts';
import type { Wiretap } from '../transport/wiretap.ts';
import type { BridgeFlags } from './bridge-options.ts';
import { thisWorker } from './cluster/this-worker.ts';
import { Failure } from './failure.ts';
import type { OpenStore } from './open-store.ts';
import { readGiven } from './given-for-url.ts';
import { listenOptions } from './options.ts';
import {
  ENVIRONMENT,
  readSecret,
  readStateKey,
  readStore,
  STATE_KEY_VARIABLE,
  type Environment,
} from './read-secret.ts';
import { variableIn, withDecoded } from './secrets.ts';
import type { GivenForUrl } from './target.ts';

/** The checked options of a bridge. */
export interface BridgeSettings
  extends
    GivenForUrl,
    Pick<
      BridgeFlags,
      'config' | 'drainTimeout' | 'handshakeTimeout' | 'health' | 'login' | 'maxMemory' | 'serverIdleTimeout'
    > {
  readonly stdio: boolean;
  readonly listen: ReturnType<typeof listenOptions>;
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  readonly access: Access;
  readonly connections: 'per-session' | 'shared' | number;
  /** How callers without a credential are identified. */
  readonly anonymous: 'one-client' | 'same-user' | 'different-users';
  /** The tools of each server that clients may use, by its own names. */
  readonly tools: Pick<ToolSelection, 'hide' | 'only'>;
  /** Seals the `requestState` that clients send back. Undefined: each process makes its own key. */
  readonly stateKey: string | undefined;
  /** The directory of the state. Undefined: sessions end with the process. */
  readonly store: string | undefined;
  readonly metrics: 'none' | 'open' | 'gated';
  readonly log: { readonly level: LogThreshold; readonly format: LogFormat; readonly requests: boolean };
  /** Removed from every line of the log. */
  readonly secrets: readonly string[];
  /** Environment variables with the bridge's secrets. Commands that the bridge starts do not get them. */
  readonly ownVariables: readonly string[];
  /** Sees the bytes of both sides. Set when a recording has started. */
  wiretap?: Wiretap | undefined;
  /** Breakpoints for what passes. Set after the settings were read. */
  breakpoints?: Breakpoints | undefined;
  /** The opened store. Set after the settings were read. */
  state?: OpenStore | undefined;
}

/** Who may call. Anyone, if there are neither keys nor an issuer. */
export interface Access {
  /** Accepted in `Authorization`. */
  readonly tokens: readonly string[];
  /** Also accepted in `X-API-Key`. */
  readonly keys: readonly string[];
  readonly issuer: BearerAuthOptions | undefined;
}

/** @throws Failure with code 2 that names the option, and no secret. */
export function readSettings(flags: BridgeFlags, environment: Environment = ENVIRONMENT): BridgeSettings {
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
  if (!flags.stdio && !guarded && !flags.allowUnauthenticated && !isLocal(flags.host)) {
    throw Failure.usage(
      `--host ${flags.host} lets other machines call: add --bearer, --api-key, --issuer or --allow-unauthenticated`,
    );
  }
  const taken = [
    ...(flags.health ? ['/healthz', '/readyz'] : []),
    ...(flags.metrics || flags.metricsAuth ? ['/metrics'] : []),
  ];
  if (taken.includes(flags.path))
    throw Failure.usage(`--path ${flags.path} is already the path of a page of the bridge; choose another`);
  if (flags.config !== undefined && flags.header.length > 0) {
    throw Failure.usage('--header cannot be used with --config: write the headers into the file');
  }
  if (flags.config !== undefined && flags.transport !== undefined) {
    throw Failure.usage('--transport cannot be used with --config: write it into the file as "type"');
  }
  const given = readGiven(flags, environment.env);
  if (flags.config !== undefined && given.oauth) {
    throw Failure.usage('options for the login cannot be used with --config: write them into the file, as "oauth"');
  }
  const stateKey = thisWorker?.stateKey ?? readStateKey(flags.stateKey, environment);
  const store = readStore(flags.store, environment);
  const { config, drainTimeout, handshakeTimeout, health, login, maxMemory, serverIdleTimeout } = flags;
  const { allowTool, denyTool } = flags;
  const { logLevel: level, logFormat: format, logRequests: requests = format === 'json' } = flags;
  return {
    ...{ config, drainTimeout, handshakeTimeout, health, login, maxMemory, serverIdleTimeout },
    stdio: flags.stdio ?? false,
    listen: listenOptions(flags),
    tls: readTls(flags),
    access,
    connections: flags.shared ? 'shared' : (flags.pool ?? 'per-session'),
    anonymous: anonymousCallers(flags),
    ...given,
    tools: { ...(denyTool.length > 0 && { hide: denyTool }), ...(allowTool.length > 0 && { only: allowTool }) },
    stateKey,
    store,
    metrics: flags.metricsAuth ? 'gated' : flags.metrics ? 'open' : 'none',
    log: { level, format, requests },
    secrets: [...access.tokens, ...access.keys, ...(stateKey === undefined ? [] : [stateKey]), ...passwordIn(store)],
    ownVariables: [
      STATE_KEY_VARIABLE,
      ...[...flags.bearer, ...flags.apiKey, flags.stateKey ?? '', flags.store ?? ''].flatMap(
        (word) => variableIn(word) ?? [],
      ),
    ],
  };
}

/**
 * On loopback all callers count as one user, unless `--allow-host` shows that a proxy forwards requests of other users.
 */
function anonymousCallers({ stdio, host, allowHost }: BridgeFlags): BridgeSettings['anonymous'] {
  if (stdio) return 'one-client';
  return isLocal(host) && allowHost.length === 0 ? 'same-user' : 'different-users';
}

function isLocal(host: string): boolean {
  return isLoopback(host.includes(':') ? `[${host}]` : host);
}

function readTls({ tlsCert, tlsKey }: BridgeFlags): BridgeSettings['tls'] {
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert === undefined) throw Failure.usage('--tls-key needs the certificate: add --tls-cert');
  if (tlsKey === undefined) throw Failure.usage('--tls-cert needs its key: add --tls-key');
  return { cert: tlsCert, key: tlsKey };
}

function readIssuer({ issuer, audience, jwks, resource }: BridgeFlags): Access['issuer'] {
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

/** The password in the URL of a store. */
function passwordIn(store: string | undefined): string[] {
  const password = store === undefined ? undefined : peerUrl(store)?.password;
  return password === undefined || password === '' ? [] : withDecoded(password);
}
