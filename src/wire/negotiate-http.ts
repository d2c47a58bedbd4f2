import { isFromPeer, transportFailure } from '../jsonrpc/error-chain.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { CONNECTION_CLOSED, REQUEST_TIMEOUT } from '../jsonrpc/pending.ts';
import { McpErrorCode } from '../protocol/errors.ts';
import type { Revision } from '../protocol/revisions.ts';
import { connectLegacy } from './legacy/outbound/outbound.ts';
import { discover, discoveryError } from './modern/outbound/discover.ts';
import { modernUpstream } from './modern/outbound/outbound.ts';
import { legacyOptions, namedLegacyRevision } from './negotiate-connection.ts';
import { saysForeign } from './era-evidence.ts';
import { reached, type HttpTarget, type NegotiatedUpstream, type Negotiation } from './negotiation.ts';
import type { UpstreamRoute } from './era-cache.ts';

/** A way to reach a server, with its name in error messages. */
type Step = 'modern' | Exclude<UpstreamRoute, 'connection'>;

const NAMES: Readonly<Record<Step, string>> = {
  modern: '2026-07-28',
  'streamable-http': 'Streamable HTTP with a handshake',
  'http+sse': 'HTTP+SSE',
};

/** This way did not reach the server. Another may. */
class NotThisWay extends Error {
  override readonly name = 'NotThisWay';
  readonly error: RpcError;
  /** The revision that the server listed instead. */
  readonly revision: Revision | undefined;

  constructor(error: RpcError, revision?: Revision) {
    super(error.message, { cause: error });
    this.error = error;
    this.revision = revision;
  }
}

/** Detects the revision and the transport of an HTTP server. */
export async function negotiateHttp(target: HttpTarget, negotiation: Negotiation): Promise<NegotiatedUpstream> {
  const { cached, eras, first, signal } = negotiation;
  const possible: Step[] = [];
  if (eras.has('modern') && target.carrier) possible.push('modern');
  if (eras.has('legacy') && target.streamable) possible.push('streamable-http');
  if (eras.has('legacy') && target.sse) possible.push('http+sse');
  const known = cached ?? (first === 'legacy' ? { era: first, route: 'streamable-http' } : undefined);
  const remembered = known && possible.find((step) => step === (known.era === 'modern' ? 'modern' : known.route));
  // The other ways follow if the cached one is wrong.
  const steps = remembered ? [remembered, ...possible.filter((step) => step !== remembered)] : possible;
  const failures: [Step, RpcError][] = [];
  let named: Revision | undefined;
  for (const step of steps) {
    signal?.throwIfAborted();
    try {
      if (step === 'modern') return await modern(target, negotiation);
      return await handshake(step, target, negotiation, { named, remembered: step === remembered });
    } catch (error) {
      if (!(error instanceof NotThisWay)) throw error;
      failures.push([step, error.error]);
      named ??= error.revision;
    }
  }
  throw failed(failures);
}

async function modern(target: HttpTarget, negotiation: Negotiation): Promise<NegotiatedUpstream> {
  const { clientInfo, capabilities = {}, revision, handshakeTimeout: timeout, trying } = negotiation;
  const carrier = trying(await target.carrier!());
  try {
    const found = await discover(carrier, { clientInfo, capabilities, revision, timeout });
    if (found.outcome === 'agreed')
      return reached(modernUpstream(carrier, found, negotiation), 'modern', 'streamable-http');
    const error = discoveryError(found);
    // A recognised error is never a reason to fall back, unless it lists a handshake revision.
    const named = namedLegacyRevision(found);
    if (named !== undefined || (found.outcome === 'unrecognised' && !found.silent)) throw new NotThisWay(error, named);
    throw error;
  } catch (error) {
    await carrier.close();
    throw saysForeign(error) ? new NotThisWay(RpcError.from(error)) : error;
  }
}

async function handshake(
  step: Exclude<Step, 'modern'>,
  target: HttpTarget,
  negotiation: Negotiation,
  { named, remembered }: { readonly named: Revision | undefined; readonly remembered: boolean },
): Promise<NegotiatedUpstream> {
  const transport = negotiation.trying(await (step === 'http+sse' ? target.sse! : target.streamable!)());
  const options = { ...legacyOptions(negotiation, () => transport.closeReason), streams: step !== 'http+sse' };
  try {
    const upstream = await connectLegacy(transport, named === undefined ? options : { ...options, revision: named });
    return reached(upstream, 'legacy', step);
  } catch (thrown) {
    const error = RpcError.from(thrown);
    const refusedEra = recognisedCode(error) === McpErrorCode.UnsupportedProtocolVersion;
    // A server that once accepted a handshake and refuses one now may have been replaced.
    const disproved = refusedEra || (remembered && isAnswer(error));
    throw disproved || saysForeign(error) ? new NotThisWay(error) : error;
  }
}

/** Whether the error came from the server. An error from this side has a cause, or is a timeout. */
function isAnswer(error: RpcError): boolean {
  if (isFromPeer(error)) return true;
  return error.cause === undefined && error.code !== REQUEST_TIMEOUT && error.code !== CONNECTION_CLOSED;
}

/** The server's error code, also from the body of an HTTP error. */
function recognisedCode(error: RpcError): number {
  return transportFailure(error)?.response?.error.code ?? error.code;
}

function failed(failures: readonly [Step, RpcError][]): RpcError {
  const [last] = failures.slice(-1);
  if (!last) return new RpcError(ErrorCode.InternalError, 'There is no way to the server that may be tried');
  const [, error] = last;
  if (failures.length === 1) return error;
  const tried = failures.map(([step, { message }]) => `${NAMES[step]}: ${message}`).join('; ');
  return new RpcError(error.code, `No way leads to the server. ${tried}`, { cause: error });
}
