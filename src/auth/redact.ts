import { errorChain } from '../jsonrpc/error-chain.ts';
import { scrubber } from './scrub.ts';

/**
 * Makes an error to report in place of one that may contain a secret. It has the messages of the thrown error and of its
 * causes, and its stack, without the secret. It has nothing else of them: errors of HTTP clients hold the whole request.
 */
export function withoutSecret(thrown: unknown, secret: string): Error {
  const texts = [...errorChain(thrown)].map(({ message, name }) => message || name);
  if (texts.length === 0) texts.push(typeof thrown === 'string' ? thrown : 'something that is no error was thrown');
  const scrub = scrubber([secret]);
  const error = new Error(scrub(`The credential cannot be checked: ${texts.join(': ')}`));
  if (thrown instanceof Error && thrown.stack !== undefined) error.stack = scrub(thrown.stack);
  return error;
}
