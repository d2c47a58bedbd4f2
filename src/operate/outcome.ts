import type { Exchange, Service } from '../core/exchange.ts';
import { invoke } from '../core/invoke.ts';
import { needsInput } from '../core/rounds.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { CONNECTION_CLOSED, REQUEST_TIMEOUT } from '../jsonrpc/pending.ts';
import { McpErrorCode, RATE_LIMITED } from '../protocol/errors.ts';
import { Method } from '../protocol/methods.ts';

/**
 * How a request ended: with a result, with a tool result that reports a failure (`isError`), with questions to the
 * caller, cancelled by the caller, or with an error.
 */
export type Outcome = 'ok' | 'tool_error' | 'input_required' | 'cancelled' | 'error';

/** The end of a request. */
export interface Ending {
  readonly outcome: Outcome;
  /** The error code, if the request failed. */
  readonly code: number | undefined;
  /** Duration in seconds. */
  readonly seconds: number;
}

/** Calls a service and reports the outcome before the caller gets it. */
export function observed(
  next: Service,
  exchange: Exchange,
  onend: (ending: Ending, result: JsonObject | undefined) => void,
): Promise<JsonObject> {
  const begun = performance.now();
  const end = (outcome: Outcome, code?: number, result?: JsonObject): void =>
    onend({ outcome, code, seconds: (performance.now() - begun) / 1000 }, result);
  return invoke(next, exchange).then(
    (result) => {
      end(outcomeOf(result), undefined, result);
      return result;
    },
    (error: unknown) => {
      const { code } = RpcError.from(error);
      if (exchange.signal.aborted) end('cancelled', code);
      else end('error', code);
      throw error;
    },
  );
}

function outcomeOf(result: JsonObject): Outcome {
  if (needsInput(result)) return 'input_required';
  return result?.['isError'] === true ? 'tool_error' : 'ok';
}

const METHODS: ReadonlySet<string> = new Set(Object.values(Method));

/** A method as a label. Callers choose methods freely, and each unknown one would create a new series. */
export function methodLabel(method: string): string {
  return METHODS.has(method) ? method : 'other';
}

const CODES: ReadonlySet<number> = new Set([
  ...Object.values(ErrorCode),
  ...Object.values(McpErrorCode),
  CONNECTION_CLOSED,
  REQUEST_TIMEOUT,
  RATE_LIMITED,
]);

/** An error code as a label. Servers choose codes freely. */
export function codeLabel(code: number): string {
  if (CODES.has(code)) return String(code);
  return code <= -32_000 && code >= -32_768 ? 'reserved' : 'other';
}

/** Cuts a peer's text to a maximum length, for a log line or an attribute. */
export function bounded(text: string, length = 128): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

/** The tool or the prompt that a request is about. */
export function nameIn({ method, params }: Pick<Exchange, 'method' | 'params'>): string | undefined {
  if (method !== Method.CallTool && method !== Method.GetPrompt) return undefined;
  const name: unknown = params['name'];
  return typeof name === 'string' ? bounded(name) : undefined;
}
