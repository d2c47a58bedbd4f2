import { inShortTurns } from '../base/short-turns.ts';
import type { Exchange, Middleware } from '../core/exchange.ts';
import { peerOf } from '../core/peer-of.ts';
import { Refusal } from '../core/refusal.ts';
import { Unavailable } from '../core/unavailable.ts';
import { errorChain } from '../jsonrpc/error-chain.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { changeTexts, collectTexts } from '../jsonrpc/texts.ts';

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
      return result['isError'] === true ? await cleaned(result, scrub, exchange) : result;
    } catch (thrown) {
      const error = RpcError.from(thrown);
      const whole = { message: stderr ? error.message : withoutStderr(error), data: error.data };
      const { message, data } = await cleaned(whole, scrub, exchange);
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

/** Scrubs all strings in a JSON value. Large errors of many calls may come at once, so they are scrubbed in short turns. */
async function cleaned<T>(value: T, scrub: CleanErrorsOptions['scrub'], { caller }: Exchange): Promise<T> {
  const texts = new Set<string>();
  collectTexts(value, texts);
  const changed = new Map<string, string>();
  for (const text of texts) {
    const clean = await inShortTurns(() => scrub(text), peerOf(caller));
    // Stryker disable next-line ConditionalExpression: only saves a copy
    if (clean !== text) changed.set(text, clean);
  }
  // Stryker disable next-line ConditionalExpression: only saves a copy
  return (changed.size === 0 ? value : changeTexts(value, (text) => changed.get(text) ?? text)) as T;
}
