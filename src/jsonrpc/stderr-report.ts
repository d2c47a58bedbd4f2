import { errorChain } from './error-chain.ts';
import { RpcError } from './errors.ts';
import { printable } from '../base/printable.ts';

/** Maximum number of errors written per period. Later ones are counted. */
const MAX_WRITTEN = 20;
/** The longest text of an error with its stack and its causes, in characters. A peer's message may have millions. */
const MAX_LENGTH = 32_768;
/** A period, in milliseconds. It begins with the first error. */
const PERIOD = 10_000;

/**
 * Writes errors that cannot be returned to a caller to stderr: 20 per 10 seconds, then the number of suppressed ones.
 * Control characters are escaped, because messages may come from a peer.
 *
 * @param write replaces stderr in tests.
 * @param described the text of an error. Default: its stack, and those of its causes.
 */
export function stderrReport(
  write: (text: string) => void = (text) => console.error(text),
  described = withStacks,
): (error: Error) => void {
  let written = 0;
  let more = 0;
  let running = false;

  const over = (): void => {
    if (more > 0) write(`${more} more errors came within ${PERIOD / 1000} seconds; set "onerror" to get each of them`);
    written = more = 0;
    running = false;
  };
  return (error) => {
    if (!running) {
      running = true;
      // Browsers have no `unref`.
      (setTimeout(over, PERIOD) as { unref?: () => void }).unref?.();
    }
    if (written === MAX_WRITTEN) {
      more += 1;
      return;
    }
    written += 1;
    write(printable(described(error).slice(0, MAX_LENGTH)));
  };
}

const failures = stderrReport();

/**
 * Wraps a callback of the application, so that its errors never reach its caller.
 *
 * @param callback by default, a function that does nothing.
 * @param onfailure gets what it throws, or rejects with. Default: writes it to stderr.
 */
export function guarded<A extends unknown[]>(
  callback: (...given: A) => unknown = () => {},
  onfailure: (error: Error) => void = failures,
): (...given: A) => void {
  return (...given) => {
    (async () => callback(...given))().catch(onfailure);
  };
}

/**
 * Lets a function of the application take errors, as `guarded` does. It may read the message, so it gets an `Error` for any other
 * value that was thrown.
 */
export function reportTo(onerror?: (error: Error) => unknown): (error: unknown) => void {
  const report = guarded(onerror);
  return (error) => report(error instanceof Error ? error : RpcError.from(error));
}

/** An error with its stack and its causes. In some runtimes a stack does not begin with the message. */
function withStacks(error: Error): string {
  const texts = Array.from(errorChain(error), (each) => {
    const { stack = '' } = each;
    return stack.includes(each.message) ? stack || String(each) : `${String(each)}\n${stack}`;
  });
  return texts.length > 0 ? texts.join('\nCaused by: ') : String(error);
}

/**
 * An error of a connection in one line. Its stack would show only this package. A cause without a code comes from a
 * handler of the application, so its stack is needed.
 */
export function withoutOwnStack(error: Error): string {
  const [, ...causes] = errorChain(error);
  const foreign = causes.find((cause) => !('code' in cause));
  return foreign === undefined ? String(error) : `${String(error)}\nCaused by: ${withStacks(foreign)}`;
}
