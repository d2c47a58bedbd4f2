/** How far the causes of an error are followed. */
const MAX_CAUSES = 5;

/** What is shorter cannot be told from a word, and can be guessed. */
const MIN_SECRET = 8;

/** A text without a secret in it, as it is or as it stands in an address. */
export function redacted(text: string, secret: string): string {
  if (secret.length < MIN_SECRET) return text;
  return text.replaceAll(secret, '[redacted]').replaceAll(encodeURIComponent(secret), '[redacted]');
}

/**
 * An error to report in place of one that was thrown over a secret. It says what the other and its causes say, without the
 * secret, and holds nothing else of them: errors of HTTP clients carry the whole request.
 */
export function withoutSecret(thrown: unknown, secret: string): Error {
  const texts: string[] = [];
  let each = thrown;
  for (; each instanceof Error && texts.length < MAX_CAUSES; each = each.cause) texts.push(each.message || each.name);
  if (texts.length === 0) texts.push(typeof thrown === 'string' ? thrown : 'something that is no error was thrown');
  const error = new Error(redacted(`The credential cannot be checked: ${texts.join(': ')}`, secret));
  if (thrown instanceof Error && thrown.stack !== undefined) error.stack = redacted(thrown.stack, secret);
  return error;
}
