import { isSecretName, SecretParameters } from '../../src/inspect/secrets.ts';

/** What stands for a secret, however long it is. */
const MASK = '••••••••';

/**
 * An HTTP head without the values that are masked in recordings too: a page is shown to others, or on a screenshot.
 *
 * @param text the head, or its beginning.
 */
export function maskedHead(text: string): string {
  let isSecret = false;
  return text.replace(/[^\r\n]+/g, (line) => {
    // A line that begins with a blank continues the field before it.
    const colon = /^[ \t]/.test(line) ? 0 : line.indexOf(':') + 1;
    if (colon > 0) isSecret = /^\S+[ \t]*:/.test(line) && isSecretName(line.slice(0, colon - 1).trim());
    if (!isSecret) return withoutParameters(line);
    return line.slice(0, colon) + line.slice(colon).replace(/[^ \t].*/, MASK);
  });
}

function withoutParameters(line: string): string {
  let shown = '';
  let at = 0;
  for (const [start, end] of new SecretParameters().next(line)) {
    shown += line.slice(at, start) + MASK;
    at = end;
  }
  return shown + line.slice(at);
}
