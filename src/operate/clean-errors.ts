import type { Middleware } from '../core/exchange.ts';
import { Refusal } from '../core/refusal.ts';
import { Unavailable } from '../core/unavailable.ts';
import { errorChain } from '../jsonrpc/error-chain.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';

/** How errors to clients are cleaned. */
export interface CleanErrorsOptions {
  /** Removes secrets from a text. */
  readonly scrub: (text: string) => string;
  /** Whether clients may read what a process wrote to stderr before it ended: only if they run it themselves. */
  readonly stderr: boolean;
}

/**
 * Removes secrets from errors to clients, including error data and failed tool results. A server may repeat the
 * credential that it received, and a process may write its configuration to stderr before it ends.
 */
export function cleanErrors({ scrub, stderr }: CleanErrorsOptions): Middleware {
  return (next) => async (exchange) => {
    try {
      const result = await next(exchange);
      return result['isError'] === true ? (scrubbed(result, scrub) as JsonObject) : result;
    } catch (thrown) {
      const error = RpcError.from(thrown);
      const message = scrub(stderr ? error.message : withoutStderr(error));
      const data = scrubbed(error.data, scrub);
      if (message === error.message && data === error.data) throw thrown;
      // These have their own HTTP status, so keep the class.
      if (error instanceof Unavailable) throw new Unavailable(message, { cause: thrown });
      const Kind = error instanceof Refusal ? Refusal : RpcError;
      throw new Kind(error.code, message, { data, cause: thrown });
    }
  };
}

/** An error message without the stderr lines of an ended process. `ChildEnded`, one of the causes, has those lines. */
function withoutStderr(error: Error): string {
  let { message } = error;
  for (const each of errorChain(error)) {
    const { summary, stderr } = each as Partial<Ended>;
    if (summary === undefined || stderr === undefined) continue;
    message = message.replaceAll(each.message, summary);
    if (stderr !== '') message = message.replaceAll(`\n${stderr}`, '');
  }
  return message;
}

interface Ended extends Error {
  readonly summary: string;
  readonly stderr: string;
}

/** Scrubs all strings in a JSON value. Returns the same value if nothing changed. */
function scrubbed(value: unknown, scrub: (text: string) => string): unknown {
  if (typeof value === 'string') return scrub(value);
  if (Array.isArray(value)) {
    const items = value.map((item) => scrubbed(item, scrub));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  if (!isObject(value)) return value;
  let changed = false;
  const members = Object.entries<unknown>(value).map(([name, member]): [string, unknown] => {
    const clean: [string, unknown] = [scrub(name), scrubbed(member, scrub)];
    changed ||= clean[0] !== name || clean[1] !== member;
    return clean;
  });
  return changed ? Object.fromEntries(members) : value;
}
