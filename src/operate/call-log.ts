import type { Middleware } from '../core/exchange.ts';
import { isObject } from '../jsonrpc/message.ts';
import { ErrorCode } from '../jsonrpc/errors.ts';
import { isNotificationMethod } from '../protocol/methods.ts';
import type { Log, LogSeverity } from './logs.ts';
import { bounded, nameIn, observed, type Outcome } from './outcome.ts';

/** A number for each request of this process, with something before it by which processes are told apart. */
const PROCESS = Math.random().toString(36).slice(2, 8);
let lastRequest = 0;

/**
 * Writes a line for each request to a server when it has ended: an id of its own, the server, the method, the tool or
 * prompt, how it ended and after how long, the revision, the session, the principal and the trace. No arguments, no
 * results, no headers and no messages of errors. An internal error (−32603) is a warning; all else is `info`, and
 * notifications of the client are `debug`.
 *
 * @param server the name under which the lines tell of it.
 */
export function logCalls(log: Log, server: string): Middleware {
  return (next) => (exchange) => {
    lastRequest += 1;
    const request = `${PROCESS}-${lastRequest.toString(36)}`;
    const { method, params, caller } = exchange;
    return observed(next, exchange, ({ outcome, code, seconds }) =>
      log.write(severityOf(method, outcome, code), 'request', {
        request,
        server,
        method: bounded(method, 64),
        name: nameIn(exchange),
        outcome,
        code,
        ms: Math.round(seconds * 1e5) / 100,
        revision: caller.revision,
        session: caller.session?.id,
        principal: caller.principal,
        trace: traceOf(params['_meta']),
      }),
    );
  };
}

function severityOf(method: string, outcome: Outcome, code: number | undefined): LogSeverity {
  if (isNotificationMethod(method)) return 'debug';
  return outcome === 'error' && code === ErrorCode.InternalError ? 'warn' : 'info';
}

/** The id of the trace that a request belongs to (W3C Trace Context, section 3.2). */
function traceOf(meta: unknown): string | undefined {
  const parent: unknown = isObject(meta) ? meta['traceparent'] : undefined;
  return typeof parent === 'string' ? /^[\da-f]{2}-([\da-f]{32})-[\da-f]{16}-[\da-f]{2}/.exec(parent)?.[1] : undefined;
}
