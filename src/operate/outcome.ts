import type { Exchange, Service } from '../core/exchange.ts';
import { invoke } from '../core/invoke.ts';
import { needsInput } from '../core/rounds.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { CONNECTION_CLOSED, REQUEST_TIMEOUT } from '../jsonrpc/pending.ts';
import { McpErrorCode, RATE_LIMITED } from '../protocol/errors.ts';
import { Method } from '../protocol/methods.ts';

/**
 * How a request ended: with a result, with one in which a tool says that it failed (`isError`), with questions to the
 * caller, taken back by the caller, or with an error.
 */
export type Outcome = 'ok' | 'tool_error' | 'input_required' | 'cancelled' | 'error';

/** The end of a request. */
export interface Ending {
  readonly outcome: Outcome;
  /** Of the error, where there is one. */
  readonly code: number | undefined;
  /** How long it took. */
  readonly seconds: number;
}

/** Calls a service and tells how that ended, before anybody else hears of it. */
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

/** A method as a label: callers choose its name, and each would be a series of its own. */
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

/** The code of an error as a label: servers choose it. */
export function codeLabel(code: number): string {
  if (CODES.has(code)) return String(code);
  return code <= -32_000 && code >= -32_768 ? 'reserved' : 'other';
}

/** Text of a peer, for a line of a log or an attribute: no longer than it may be. */
export function bounded(text: string, length = 128): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

/** The tool or the prompt that a request is about. */
export function nameIn({ method, params }: Pick<Exchange, 'method' | 'params'>): string | undefined {
  if (method !== Method.CallTool && method !== Method.GetPrompt) return undefined;
  const name: unknown = params['name'];
  return typeof name === 'string' ? bounded(name) : undefined;
}
