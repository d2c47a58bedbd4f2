import { RpcError } from '../jsonrpc/errors.ts';
import { REVISIONS } from '../protocol/revisions.ts';
import { negotiateConnection } from './negotiate-connection.ts';
import { negotiateHttp } from './negotiate-http.ts';
import type { ConnectUpstreamOptions, HttpTarget, NegotiatedUpstream, Negotiation } from './negotiation.ts';
import type { ReasonedTransport } from './probed-connection.ts';
import { memoryEraCache, type CachedEra, type Era, type EraCache } from './era-cache.ts';

const inProcess = memoryEraCache();

/**
 * Connects to a server of any revision.
 *
 * On its own connection, `server/discover` goes first. Without a recognised 2026-07-28 response in time, `initialize`
 * follows on the same connection (2026-07-28, transports/stdio: Backward Compatibility).
 *
 * Over HTTP, a 4xx status without a recognised error leads from 2026-07-28 to the handshake, and from there to HTTP+SSE
 * (2026-07-28, transports/streamable-http: Backward Compatibility). Errors that do not depend on the revision end the
 * attempt: 401, 403, 408, 429, 5xx, and an unreachable server.
 *
 * @throws RpcError that lists what was tried. Everything that was opened is closed then. TypeError if `revision` and
 * `eras` contradict each other.
 */
export async function connectUpstream(
  target: ReasonedTransport | HttpTarget,
  options: ConnectUpstreamOptions,
): Promise<NegotiatedUpstream> {
  const { eraCache = inProcess, signal, onerror = () => {} } = options;
  const eras = erasOf(options);
  const first = options.onBehalfOf ? REVISIONS[options.onBehalfOf].era : 'modern';
  // Different callers may reach a server of both eras in different eras.
  const key = options.key === undefined || first === 'modern' ? options.key : `${options.key} (${first} first)`;
  const trying = new Set<{ close(): Promise<void> }>();
  const giveUp = (): void => {
    for (const each of trying) each.close().catch(onerror);
  };
  signal?.addEventListener('abort', giveUp);
  try {
    signal?.throwIfAborted();
    const cached = key === undefined ? undefined : await recall(eraCache, key, onerror);
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
        if (signal?.aborted) giveUp();
        return closable;
      },
    };
    const found =
      'send' in target ? await negotiateConnection(target, negotiation) : await negotiateHttp(target, negotiation);
    // A pinned revision does not show what negotiation would have found.
    if (key !== undefined && eras.size === 2 && (found.era !== cached?.era || found.route !== cached.route)) {
      await remember(eraCache, key, { era: found.era, route: found.route }, onerror);
    }
    if (signal?.aborted) {
      await found.close();
      throw signal.reason;
    }
    return found;
  } catch (error) {
    throw RpcError.from(signal?.aborted ? signal.reason : error);
  } finally {
    signal?.removeEventListener('abort', giveUp);
  }
}

function erasOf({ revision, eras = 'both' }: ConnectUpstreamOptions): ReadonlySet<Era> {
  const wanted: readonly Era[] = eras === 'both' ? ['modern', 'legacy'] : [eras];
  if (revision === undefined) return new Set(wanted);
  const { era } = REVISIONS[revision];
  if (!wanted.includes(era)) throw new TypeError(`Revision ${revision} is none of the ${eras} era`);
  return new Set([era]);
}

async function recall(
  eraCache: EraCache,
  key: string,
  onerror: (error: Error) => void,
): Promise<CachedEra | undefined> {
  try {
    return await eraCache.get(key);
  } catch (error) {
    onerror(error as Error);
    return undefined;
  }
}

async function remember(
  eraCache: EraCache,
  key: string,
  cached: CachedEra,
  onerror: (error: Error) => void,
): Promise<void> {
  try {
    await eraCache.set(key, cached);
  } catch (error) {
    onerror(error as Error);
  }
}
