import { RpcError } from '../jsonrpc/errors.ts';
import { CONNECTION_CLOSED, REQUEST_TIMEOUT } from '../jsonrpc/pending.ts';
import { REVISIONS } from '../protocol/revisions.ts';
import type { Upstream } from '../wire/upstream.ts';
import { ConnectionError, TimeoutError } from './errors.ts';
import { connectInProcess } from './in-process.ts';
import type { ClientOptions } from './options.ts';
import type { Identity, Opener } from './requester.ts';
import { kindOf, type ClientTransport, type CommandTarget, type ServerTarget, type Target } from './target.ts';

/** Codes of errors that are made on this side. */
const OURS: ReadonlySet<number> = new Set([CONNECTION_CLOSED, REQUEST_TIMEOUT]);

/** How connections to a target are opened. @throws TypeError where it is none. */
export function openerFor(target: Target, options: ClientOptions): Opener {
  const kind = kindOf(target);
  if (kind === 'server') return serverOpener(target as ServerTarget, options);
  if (kind === 'transport') return opener(false, options, () => target as ClientTransport);
  if (kind === 'transports') return opener(true, options, target as () => ClientTransport);
  return opener(true, options, async () => {
    const { childTransport } = await import('../transport/stdio/child.ts');
    return childTransport(target as CommandTarget);
  });
}

function opener(
  reopens: boolean,
  options: ClientOptions,
  make: () => ClientTransport | Promise<ClientTransport>,
): Opener {
  return { reopens, open: async (identity, signal) => negotiated(await make(), options, identity, signal) };
}

/** Without a pin a server in this process is called as a function; for a handshake revision it is linked in memory. */
function serverOpener({ service }: ServerTarget, options: ClientOptions): Opener {
  const { revision, eras } = options;
  const legacy = eras === 'legacy' || (revision !== undefined && REVISIONS[revision].era === 'legacy');
  if (!legacy) {
    return {
      reopens: true,
      open: (identity, signal) => connectInProcess(service, identity, signal, options.connectTimeout ?? 60_000),
    };
  }
  return opener(true, options, async () => {
    const [{ memoryTransportPair }, { serve }] = await Promise.all([
      import('../transport/memory.ts'),
      import('../wire/serve.ts'),
    ]);
    const [ours, theirs] = memoryTransportPair();
    await serve(service, theirs);
    return ours;
  });
}

/** Agrees on a revision over a transport; closes it where that fails. */
async function negotiated(
  transport: ClientTransport,
  options: ClientOptions,
  { clientInfo, capabilities, onerror }: Identity,
  signal: AbortSignal,
): Promise<Upstream> {
  const { connectTimeout = 60_000, revision } = options;
  /** What went wrong before the connection stood: it says why there was none, or is reported after it. */
  let early: Error[] | undefined = [];
  const report = (error: Error): void => void (early ? early.push(error) : onerror(error));
  const giveUp = (): void => void transport.close().catch(onerror);
  signal.addEventListener('abort', giveUp);
  try {
    const { connectLegacy } = await import('../wire/legacy/outbound.ts');
    signal.throwIfAborted();
    const upstream = await connectLegacy(transport, {
      clientInfo,
      capabilities,
      ...(revision && { revision }),
      handshakeTimeout: connectTimeout,
      // Each call has its own limits.
      timeout: 0,
      maxTimeout: 0,
      closeReason: () => transport.closeReason,
      onerror: report,
    });
    const reported = early;
    early = undefined;
    for (const error of reported) onerror(error);
    return upstream;
  } catch (error) {
    throw connectFailure(error, early?.[0], connectTimeout);
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

/** A server that printed something else instead of answering says more by that than by its exit. */
function connectFailure(thrown: unknown, early: Error | undefined, limit: number): Error {
  const error = thrown instanceof Error ? thrown : RpcError.from(thrown);
  // Of those that the server sent none has a cause.
  const isServers = error instanceof RpcError && error.cause === undefined && !OURS.has(error.code);
  if (isServers && early === undefined) return error;
  const before = early && early.message !== error.message ? ` (before that: ${early.message})` : '';
  const message = `Cannot connect: ${error.message}${before}`;
  return error instanceof RpcError && error.code === REQUEST_TIMEOUT
    ? new TimeoutError(message, limit, { cause: error })
    : new ConnectionError(message, { cause: error });
}
