import { errorChain, httpStatus, transportFailure } from '../jsonrpc/error-chain.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { McpErrorCode } from '../protocol/errors.ts';
import type { Revision } from '../protocol/revisions.ts';
import { connectLegacy } from './legacy/outbound/outbound.ts';
import { NotModern } from './modern/outbound/discover.ts';
import { connectModern } from './modern/outbound/outbound.ts';
import { isAnswer, saysForeign } from './era-evidence.ts';
import {
  handshakeOptions,
  reached,
  type HttpTarget,
  type NegotiatedUpstream,
  type Negotiation,
} from './negotiation.ts';
import type { UpstreamRoute } from './era-cache.ts';

/** A way to reach a server, with its name in error messages. */
type Step = 'modern' | Exclude<UpstreamRoute, 'connection'>;

const NAMES: Readonly<Record<Step, string>> = {
  modern: '2026-07-28',
  'streamable-http': 'Streamable HTTP with a handshake',
  'http+sse': 'HTTP+SSE',
};

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
      return await connect(step, target, negotiation, named);
    } catch (thrown) {
      const error = RpcError.from(thrown);
      if (!leadsOn(error, step, step === remembered)) throw error;
      failures.push([step, error]);
      if (error instanceof NotModern) named ??= error.legacy;
    }
  }
  throw failed(failures);
}

async function connect(
  step: Step,
  target: HttpTarget,
  negotiation: Negotiation,
  named: Revision | undefined,
): Promise<NegotiatedUpstream> {
  const { trying } = negotiation;
  if (step === 'modern') {
    const carrier = trying(await target.carrier!());
    return reached(await connectModern(carrier, negotiation), 'modern', 'streamable-http');
  }
  const streams = step === 'streamable-http';
  const transport = trying(await (streams ? target.streamable! : target.sse!)());
  const handshake = { ...handshakeOptions(negotiation, named), streams, lastId: transport.lastId };
  return reached(await connectLegacy(transport, handshake), 'legacy', step);
}

/** Whether an error is a reason to try the next way. A recognised error is not, unless it lists another revision. */
function leadsOn(error: RpcError, step: Step, remembered: boolean): boolean {
  if (error instanceof NotModern) return error.mayBeLegacy && !error.silent;
  if (saysForeign(error)) return true;
  if (step === 'modern') return false;
  // A server that once accepted a handshake and refuses one now may have been replaced.
  return recognisedCode(error) === McpErrorCode.UnsupportedProtocolVersion || (remembered && isAnswer(error));
}

/** The server's error code, also from the body of an HTTP error. */
function recognisedCode(error: RpcError): number {
  return transportFailure(error)?.response?.error.code ?? error.code;
}

function failed(failures: readonly [Step, RpcError][]): RpcError {
  const [last] = failures.slice(-1);
  if (!last) return new RpcError(ErrorCode.InternalError, 'The options allow no transport for this server');
  const [, error] = last;
  if (failures.length === 1) return error;
  if (failures.every(([, each]) => httpStatus(each) === 404)) {
    const said = failures.map(([, each]) => wordsOf(each)).find((words) => words !== undefined);
    const more = said === undefined ? '; many servers use /mcp or /sse' : `. The server says: ${said}`;
    return new RpcError(error.code, `There is no MCP server at the path of this URL (status 404)${more}`, {
      cause: error,
    });
  }
  /** The steps that failed for each reason, in order. */
  const reasons = new Map<string, string[]>();
  for (const [step, each] of failures) {
    const reason = reasonOf(each);
    reasons.set(reason, [...(reasons.get(reason) ?? []), NAMES[step]]);
  }
  const tried = Array.from(reasons, ([reason, names]) => `${names.join(' and ')}: ${reason}`).join('; ');
  return new RpcError(error.code, `The server does not answer as an MCP server. ${tried}`, { cause: error });
}

/** What the server itself says in the error, if anything. */
function wordsOf(error: RpcError): string | undefined {
  let words = transportFailure(error)?.response?.error.message;
  for (const each of errorChain(error)) if (each instanceof RpcError && each.origin === 'peer') words = each.message;
  return words;
}

/** The reason of a failed step. That the server does not speak a revision is shown by the step. */
function reasonOf(error: RpcError): string {
  return error instanceof NotModern && error.cause instanceof Error ? error.cause.message : error.message;
}
