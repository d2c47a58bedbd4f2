import { scrubber } from './scrub.ts';

/** How far the causes of an error are followed. */
const MAX_CAUSES = 5;

/**
 * An error to report in place of one that was thrown over a secret. It says what the other and its causes say, without the
 * secret, and holds nothing else of them: errors of HTTP clients carry the whole request.
 */
export function withoutSecret(thrown: unknown, secret: string): Error {
  const texts: string[] = [];
  let each = thrown;
  for (; each instanceof Error && texts.length < MAX_CAUSES; each = each.cause) texts.push(each.message || each.name);
  if (texts.length === 0) texts.push(typeof thrown === 'string' ? thrown : 'something that is no error was thrown');
  const scrub = scrubber([secret]);
  const error = new Error(scrub(`The credential cannot be checked: ${texts.join(': ')}`));
  if (thrown instanceof Error && thrown.stack !== undefined) error.stack = scrub(thrown.stack);
  return error;
}
