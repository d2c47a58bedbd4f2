import { errorChain } from '../jsonrpc/error-chain.ts';
import { scrubber } from './scrub.ts';

/**
 * Makes a copy of an error without a secret. The copy has the stack, and the messages of the error and its causes. All
 * other properties are dropped, because errors of HTTP clients contain the whole request.
 */
export function withoutSecret(thrown: unknown, secret: string): Error {
  const texts = [...errorChain(thrown)].map(({ message, name }) => message || name);
  if (texts.length === 0) texts.push(typeof thrown === 'string' ? thrown : 'a value that is not an error was thrown');
  const scrub = scrubber([secret]);
  const error = new Error(scrub(`The credential cannot be checked: ${texts.join(': ')}`));
  if (thrown instanceof Error && thrown.stack !== undefined) error.stack = scrub(thrown.stack);
  return error;
}
