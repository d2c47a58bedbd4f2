import type { UrlRequest } from '../client/handlers.ts';
import type { ElicitResult } from '../protocol/types.ts';
import { agrees, type Prompter } from './prompter.ts';
import { oneLine, wordsOf } from './screen.ts';

/**
 * Shows the user the full URL that a server asks them to offerUrl, and opens it if they agree (2026-07-28,
 * client/elicitation: Safe URL Handling). This process does not fetch the URL.
 *
 * @param open opens a URL in the browser; resolves with whether that worked.
 * @throws the signal's reason if it fires first.
 */
export async function offerUrl(
  person: Prompter,
  server: string,
  request: UrlRequest,
  open: (url: URL) => Promise<boolean>,
  signal: AbortSignal,
): Promise<ElicitResult> {
  const url = new URL(request.url);
  person.tell(`${oneLine(server)} asks you to visit an address: ${wordsOf(request.message)}`);
  person.tell(`  ${url.href}`);
  // A server must not open local programs or files.
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    person.tell(`  Declined: ${url.protocol} is not an address of the web.`);
    return { action: 'decline' };
  }
  person.tell(`  It is at ${url.host}.`);
  for (const warning of warnings(url)) person.tell(`  Beware: ${warning}`);
  const agreed = await agrees(person, 'Open it in the browser?', false, signal);
  if (agreed === undefined) return { action: 'cancel' };
  if (!agreed) return { action: 'decline' };
  if (!(await open(url))) person.tell('  No browser could be opened. Please open the address yourself.');
  return { action: 'accept' };
}

function warnings(url: URL): string[] {
  const found: string[] = [];
  if (url.hostname.split('.').some((label) => label.startsWith('xn--'))) {
    found.push('its name has letters that may look like others.');
  }
  if (url.username !== '' || url.password !== '') found.push('what stands before the @ is not where it leads.');
  if (url.protocol === 'http:' && !['localhost', '127.0.0.1', '[::1]'].includes(url.hostname)) {
    found.push('what you enter there can be read on the way.');
  }
  return found;
}
