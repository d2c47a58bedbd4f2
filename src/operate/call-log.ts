import type { Middleware } from '../core/exchange.ts';
import { isObject } from '../jsonrpc/message.ts';
import { ErrorCode } from '../jsonrpc/errors.ts';
import { isNotificationMethod } from '../protocol/methods.ts';
import type { Log, LogSeverity } from './logs.ts';
import { bounded, nameIn, observed, type Outcome } from './outcome.ts';

/** Prefix of this process's request ids, so that ids of different processes differ. */
const PROCESS = Math.random().toString(36).slice(2, 8);
let lastRequest = 0;

/**
 * Logs each request to a server when it ends: a request id, the server, the method, the tool or prompt, the outcome, the
 * duration, the revision, the session, the principal and the trace. It logs no arguments, results, headers or error
 * messages. An internal error (−32603) is a warning. Client notifications are `debug`. All else is `info`.
 *
 * @param server the server's name in the log.
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
