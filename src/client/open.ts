import { isPeerUrl } from '../base/peer-url.ts';
import { Deadline } from '../base/deadline.ts';
import { waitFor } from '../base/wait.ts';
import { CONNECTION_CLOSED } from '../jsonrpc/pending.ts';
import { REVISIONS } from '../protocol/revisions.ts';
import type { Upstream } from '../wire/upstream.ts';
import type { HttpTarget } from '../wire/negotiation.ts';
import type { Transport } from '../transport/transport.ts';
import type { KeptSession } from '../transport/http/client/kept-session.ts';
import type { HttpSend } from '../transport/http/client/http.ts';
import { connectFailure, TimeoutError } from './errors.ts';
import { linkedTo } from './in-process.ts';
import type { ClientOptions } from './options.ts';
import type { Identity, Opener } from './requester.ts';
import {
  kindOf,
  type ClientTransport,
  type CommandTarget,
  type ServerTarget,
  type Target,
  type UrlTarget,
} from './target.ts';

const CONNECT_TIMEOUT = 60_000;
/** How much longer one step of connecting may take if the user may have to log in. `connectTimeout` limits the rest. */
const LOGIN_ALLOWANCE = 600_000;

/** Creates the function that opens connections to a target. @throws TypeError if the target is invalid. */
export function openerFor(target: Target, options: ClientOptions): Opener {
  const kind = kindOf(target);
  if (kind === 'url') {
    const { url, transport } =
      typeof target === 'string' || target instanceof URL ? { url: target } : (target as UrlTarget);
    return urlOpener(urlOf(url), transport, options);
  }
  if (kind === 'server') return opener(true, options, () => linkedTo(target as ServerTarget));
  if (kind === 'transport') return opener(false, options, () => target as ClientTransport);
  if (kind === 'transports') return opener(true, options, target as () => ClientTransport);
  const command = target as CommandTarget;
  const make = async (): Promise<ClientTransport> => {
    const { childTransport } = await import('../transport/stdio/child.ts');
    return childTransport({ ...command, wiretap: command.wiretap ?? options.wiretap });
  };
  return opener(true, options, make, JSON.stringify([command.command, ...(command.args ?? [])]));
}

/** @throws TypeError if the transport is unknown, or does not support the revision. */
function checkTransport(transport: UrlTarget['transport'], { revision, eras }: ClientOptions): void {
  if (transport !== undefined && transport !== 'http' && transport !== 'sse') {
    throw new TypeError('connect: the transport must be http or sse');
  }
  if (transport !== 'sse') return;
  if (eras === 'modern')
    throw new TypeError('connect: HTTP+SSE has no modern revision; use transport http, or another era');
  if (revision !== undefined && REVISIONS[revision].era === 'modern') {
    throw new TypeError(`connect: revision ${revision} does not exist over HTTP+SSE; use transport http`);
  }
}

function urlOf(target: string | URL): URL {
  if (!isPeerUrl(String(target))) {
    throw new TypeError(
      "connect: the text is not a URL; a command is written as { command: 'node', args: ['server.js'] }",
    );
  }
  const url = new URL(target);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new TypeError(`connect: the URL must begin with http: or https:, not ${url.protocol}`);
  }
  return url;
}

function urlOpener(url: URL, transport: UrlTarget['transport'], options: ClientOptions): Opener {
  checkTransport(transport, options);
  let http: HttpSend | undefined;
  const ways = once(async () => {
    const { httpCarrier, SseClient, StreamableClient } = await import('../transport/http/client/clients.ts');
    const { headers, authorizer, httpLimits } = options;
    http = await sender(options);
    const shared = { ...httpLimits, headers, authorizer, http };
    return ({ onerror, keeper }: Identity, kept?: KeptSession): HttpTarget => {
      const streamable = (): Transport => new StreamableClient(url, { ...shared, keeper, kept });
      if (kept) return { streamable };
      return {
        ...(transport !== 'sse' && { carrier: () => httpCarrier(url, { ...shared, onerror }), streamable }),
        ...(transport !== 'http' && { sse: () => new SseClient(url, shared) }),
      };
    };
  });
  // The query may contain secrets. If only one way is possible, there is nothing to remember.
  const key = transport === 'sse' ? undefined : url.origin + url.pathname;
  return {
    reopens: true,
    remote: true,
    open: async (identity, closing) => {
      const target = await ways();
      const open = (way: HttpTarget, ofWay: ClientOptions): Promise<Upstream> =>
        inTime(url, options, closing, (signal) => negotiated(way, patient(ofWay), identity, closing, key, signal));
      const resumed =
        transport === 'sse' || options.eras === 'modern'
          ? undefined
          : await identity.keeper?.resume((kept) => open(target(identity, kept), { ...options, eras: 'legacy' }));
      return resumed ?? open(target(identity), options);
    },
    close: () => http?.close?.(),
  };
}

/** If the user may have to log in, single steps of connecting get a very long limit. */
function patient(options: ClientOptions): ClientOptions {
  const { authorizer, connectTimeout = CONNECT_TIMEOUT } = options;
  return authorizer?.loginActiveUntil === undefined || connectTimeout === 0
    ? options
    : { ...options, connectTimeout: connectTimeout + LOGIN_ALLOWANCE };
}

/** Limits the total time of connecting to a URL, without the time for a login. Always settles. */
async function inTime<T>(
  url: URL,
  { authorizer, connectTimeout = CONNECT_TIMEOUT }: ClientOptions,
  closing: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const timedOut = new AbortController();
  const message = `Cannot connect: ${url.origin}${url.pathname} did not answer within ${connectTimeout} ms`;
  const deadline = new Deadline(
    { timeout: connectTimeout },
    () => timedOut.abort(new TimeoutError(message, connectTimeout)),
    () => authorizer?.loginActiveUntil ?? 0,
  );
  const signal = AbortSignal.any([closing, timedOut.signal]);
  try {
    // If connecting succeeds after all, the function that connected closes the connection.
    return await waitFor(work(signal), { signal });
  } finally {
    deadline.clear();
  }
}

async function sender({ fetch, proxy, wiretap }: ClientOptions): Promise<HttpSend> {
  if (fetch && proxy !== undefined) throw new TypeError('Set only one of fetch and proxy: a fetch uses its own proxy');
  if (fetch) return (await import('../transport/http/client/fetch-http.ts')).fetchHttp(fetch);
  return (await import('../transport/http/client/pooled-http.ts')).pooledHttp({ proxy, wiretap });
}

function opener(
  reopens: boolean,
  options: ClientOptions,
  make: () => ClientTransport | Promise<ClientTransport>,
  key?: string,
): Opener {
  return {
    reopens,
    open: async (identity, signal) =>
      negotiated(await make(), options, identity, signal, key, signal, reopens ? make : undefined),
  };
}

/**
 * Finds out which revision the server speaks, and connects with it.
 *
 * @param closing fires when the client is closed.
 * @param signal cancels connecting.
 * @param make makes a new connection, if that is possible.
 */
async function negotiated(
  target: ClientTransport | HttpTarget,
  options: ClientOptions,
  { clientInfo, capabilities, onBehalfOf, attribution, onerror }: Identity,
  closing: AbortSignal,
  key: string | undefined,
  signal = closing,
  make?: () => ClientTransport | Promise<ClientTransport>,
): Promise<Upstream> {
  const { connectTimeout = CONNECT_TIMEOUT, revision, eras, probeTimeout, eraCache } = options;
  /** Errors before the connection was ready. They explain why it failed, or are reported afterwards. */
  let early: Error[] | undefined = [];
  const report = (error: Error): void => {
    if (early) early.push(error);
    // Messages in transit failed because the client was closed.
    else if (!(closing.aborted && 'code' in error && error.code === CONNECTION_CLOSED)) onerror(error);
  };
  const { connectUpstream } = await import('../wire/negotiate.ts');
  try {
    const upstream = await connectUpstream(target, {
      clientInfo,
      capabilities,
      onBehalfOf,
      attribution,
      revision,
      eras,
      key,
      eraCache,
      again:
        make &&
        ((): ClientTransport | Promise<ClientTransport> => {
          // The first connection's error does not explain the end of the second.
          early = [];
          return make();
        }),
      signal,
      probeTimeout,
      handshakeTimeout: connectTimeout,
      // Each call has its own limits, and users may need more time than a server.
      timeout: 0,
      maxTimeout: 0,
      onerror: report,
    });
    const reported = early;
    early = undefined;
    for (const error of reported) onerror(error);
    return upstream;
  } catch (error) {
    if (error instanceof TypeError) throw error;
    throw connectFailure(error, early?.[0], connectTimeout);
  }
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}
