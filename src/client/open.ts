import type { Service } from '../core/exchange.ts';
import { CONNECTION_CLOSED } from '../jsonrpc/pending.ts';
import { REVISIONS } from '../protocol/revisions.ts';
import type { Upstream } from '../wire/upstream.ts';
import type { HttpTarget } from '../wire/negotiation.ts';
import { attendedTimer } from '../transport/http/client/attendance.ts';
import type { HttpSend } from '../transport/http/client/http.ts';
import { connectFailure, TimeoutError } from './errors.ts';
import { connectInProcess } from './in-process.ts';
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
/**
 * How much longer one step of connecting may take, because the user may have to log in. `connectTimeout` bounds the
 * rest.
 */
const LOGIN_ALLOWANCE = 600_000;

/** Creates the function that opens connections to a target. @throws TypeError if the target is invalid. */
export function openerFor(target: Target, options: ClientOptions): Opener {
  const kind = kindOf(target);
  if (kind === 'url') {
    const { url, transport } =
      typeof target === 'string' || target instanceof URL ? { url: target } : (target as UrlTarget);
    return urlOpener(urlOf(url), transport, options);
  }
  if (kind === 'server') return serverOpener(target as ServerTarget, options);
  if (kind === 'transport') return opener(false, options, () => target as ClientTransport);
  if (kind === 'transports') return opener(true, options, target as () => ClientTransport);
  const command = target as CommandTarget;
  const make = async (): Promise<ClientTransport> => {
    const { childTransport } = await import('../transport/stdio/child.ts');
    return childTransport(command);
  };
  return opener(true, options, make, JSON.stringify([command.command, ...(command.args ?? [])]));
}

/** @throws TypeError if the transport is unknown, or does not support the revision. */
function checkTransport(transport: UrlTarget['transport'], { revision, eras }: ClientOptions): void {
  if (transport !== undefined && transport !== 'http' && transport !== 'sse') {
    throw new TypeError('connect: the transport must be http or sse');
  }
  if (transport !== 'sse') return;
  if (eras === 'modern') throw new TypeError('connect: no revision of the modern era is spoken over HTTP+SSE');
  if (revision !== undefined && REVISIONS[revision].era === 'modern') {
    throw new TypeError(`connect: revision ${revision} is not spoken over HTTP+SSE`);
  }
}

function urlOf(target: string | URL): URL {
  if (!URL.canParse(String(target))) throw new TypeError('connect: the address is no URL');
  const url = new URL(target);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new TypeError(`connect: the address must be one of http or https, not of ${url.protocol}`);
  }
  return url;
}

function urlOpener(url: URL, transport: UrlTarget['transport'], options: ClientOptions): Opener {
  checkTransport(transport, options);
  let http: HttpSend | undefined;
  const ways = once(async (): Promise<(onerror: (error: Error) => void) => HttpTarget> => {
    const [{ httpCarrier }, { StreamableClient }, { SseClient }] = await Promise.all([
      import('../transport/http/client/http-carrier.ts'),
      import('../transport/http/client/streamable-client.ts'),
      import('../transport/http/client/sse-client.ts'),
    ]);
    const { headers, authorizer, httpLimits } = options;
    http = await sender(options);
    const shared = { ...httpLimits, headers, authorizer, http };
    return (onerror) => ({
      ...(transport !== 'sse' && {
        carrier: () => httpCarrier(url, { ...shared, onerror }),
        streamable: () => new StreamableClient(url, shared),
      }),
      ...(transport !== 'http' && { sse: () => new SseClient(url, shared) }),
    });
  });
  // The query may contain secrets. If only one way is possible, there is nothing to remember.
  const key = transport === 'sse' ? undefined : url.origin + url.pathname;
  return {
    reopens: true,
    remote: true,
    open: async (identity, closing) => {
      const target = (await ways())(identity.onerror);
      return inTime(url, options, closing, (signal) =>
        negotiated(target, patient(options), identity, closing, key, signal),
      );
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

/** Bounds the total time of connecting to a URL, without the time for a login. It always settles. */
async function inTime<T>(
  url: URL,
  { authorizer, connectTimeout = CONNECT_TIMEOUT }: ClientOptions,
  closing: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  let giveUp!: (reason: Error) => void;
  const givenUp = new Promise<never>((_, reject) => {
    giveUp = (reason) => {
      controller.abort(reason);
      reject(reason);
    };
  });
  const close = (): void => giveUp(closing.reason as Error);
  closing.addEventListener('abort', close);
  const end = attendedTimer(
    connectTimeout,
    () => authorizer?.loginActiveUntil ?? 0,
    () => {
      const message = `Cannot connect: ${url.origin}${url.pathname} did not answer within ${connectTimeout} ms`;
      giveUp(new TimeoutError(message, connectTimeout));
    },
  );
  try {
    // If the connection succeeds after all, the code that made it closes it.
    return await Promise.race([work(controller.signal), givenUp]);
  } finally {
    end();
    closing.removeEventListener('abort', close);
  }
}

async function sender({ fetch }: ClientOptions): Promise<HttpSend> {
  if (fetch) return (await import('../transport/http/client/fetch-http.ts')).fetchHttp(fetch);
  return (await import('../transport/http/client/node-http.ts')).nodeHttp();
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

/** Without a pin a server in this process is called as a function; for a handshake revision it is linked in memory. */
function serverOpener({ service }: ServerTarget, options: ClientOptions): Opener {
  const { revision, eras, connectTimeout = CONNECT_TIMEOUT } = options;
  const legacy = eras === 'legacy' || (revision !== undefined && REVISIONS[revision].era === 'legacy');
  return legacy
    ? opener(true, options, () => linked(service))
    : { reopens: true, open: (identity, signal) => connectInProcess(service, identity, signal, connectTimeout) };
}

async function linked(service: Service): Promise<ClientTransport> {
  const [{ memoryTransportPair }, { serve }] = await Promise.all([
    import('../transport/memory.ts'),
    import('../wire/serve.ts'),
  ]);
  const [ours, theirs] = memoryTransportPair();
  await serve(service, theirs);
  return ours;
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
      probeTimeout: lesser(probeTimeout ?? 5000, connectTimeout),
      handshakeTimeout: connectTimeout,
      // Each call has its own limits, and users may think longer than a server may take.
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

/** The smaller of two limits. 0 means no limit. */
function lesser(one: number, other: number): number {
  return one === 0 || other === 0 ? Math.max(one, other) : Math.min(one, other);
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}
