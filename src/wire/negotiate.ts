import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { REVISIONS } from '../protocol/revisions.ts';
import { negotiateConnection } from './negotiate-connection.ts';
import { negotiateHttp } from './negotiate-http.ts';
import type { ConnectUpstreamOptions, HttpTarget, NegotiatedUpstream, Negotiation } from './negotiation.ts';
import type { Transport } from '../transport/transport.ts';
import { memoryEraCache, type Era } from './era-cache.ts';

const inProcess = memoryEraCache();

/**
 * Connects to a server of any revision.
 *
 * Over stdio, and any other transport but HTTP, the client first sends `server/discover`. Without a recognised
 * 2026-07-28 response in time, it sends `initialize` on the same connection (2026-07-28, transports/stdio: Backward
 * Compatibility).
 *
 * Over HTTP, a 4xx status without a recognised error means that the handshake is tried after 2026-07-28, and HTTP+SSE
 * after the handshake (2026-07-28, transports/streamable-http: Backward Compatibility). Errors that do not depend on
 * the revision end the attempt: 401, 403, 408, 429, 5xx, and an unreachable server.
 *
 * @throws RpcError that lists what was tried. Everything that was opened is closed then. TypeError if `revision` and
 * `eras` contradict each other.
 */
export async function connectUpstream(
  target: Transport | HttpTarget,
  options: ConnectUpstreamOptions,
): Promise<NegotiatedUpstream> {
  const { eraCache = inProcess, signal, onerror = () => {} } = options;
  const eras = erasOf(options);
  const first = options.onBehalfOf ? REVISIONS[options.onBehalfOf].era : 'modern';
  // Different callers may reach a server of both eras in different eras.
  const key = options.key === undefined || first === 'modern' ? options.key : `${options.key} (${first} first)`;
  const trying = new Set<{ close(): Promise<void> }>();
  const abortAttempt = (): void => {
    for (const each of trying) each.close().catch(onerror);
  };
  signal?.addEventListener('abort', abortAttempt);
  try {
    signal?.throwIfAborted();
    const cached = key === undefined ? undefined : await reported(() => eraCache.get(key), onerror);
    const negotiation: Negotiation = {
      ...options,
      onerror,
      eras,
      first,
      probeTimeout: options.probeTimeout ?? 5000,
      handshakeTimeout: options.handshakeTimeout ?? 60_000,
      cached,
      trying: (closable) => {
        trying.add(closable);
        if (signal?.aborted) abortAttempt();
        return closable;
      },
    };
    const found =
      'send' in target ? await negotiateConnection(target, negotiation) : await negotiateHttp(target, negotiation);
    // A server may answer a handshake with another revision (2025-11-25, basic/lifecycle: Version Negotiation).
    if (options.revision !== undefined && found.revision !== options.revision) {
      await found.close();
      throw new RpcError(ErrorCode.InternalError, `The server speaks ${found.revision}, and not ${options.revision}`);
    }
    // A pinned revision does not show what negotiation would have found.
    if (key !== undefined && eras.size === 2 && (found.era !== cached?.era || found.route !== cached.route)) {
      await reported(() => eraCache.set(key, { era: found.era, route: found.route }), onerror);
    }
    if (signal?.aborted) {
      await found.close();
      throw signal.reason;
    }
    return found;
  } catch (error) {
    throw RpcError.from(signal?.aborted ? signal.reason : error);
  } finally {
    signal?.removeEventListener('abort', abortAttempt);
  }
}

function erasOf({ revision, eras = 'both' }: ConnectUpstreamOptions): ReadonlySet<Era> {
  const wanted: readonly Era[] = eras === 'both' ? ['modern', 'legacy'] : [eras];
  if (revision === undefined) return new Set(wanted);
  const { era } = REVISIONS[revision];
  if (!wanted.includes(era)) throw new TypeError(`Revision ${revision} does not belong to the ${eras} era`);
  return new Set([era]);
}

/** An era cache that fails is ignored, and the error is reported. */
async function reported<T>(use: () => T | Promise<T>, onerror: (error: Error) => void): Promise<T | undefined> {
  try {
    return await use();
  } catch (error) {
    onerror(error as Error);
    return undefined;
  }
}
