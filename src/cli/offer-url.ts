import type { UrlRequest } from '../client/handlers.ts';
import type { ElicitResult } from '../protocol/types.ts';
import { agrees, type Prompter } from './prompter.ts';
import { indentedStart, oneLine } from './screen.ts';

/**
 * Shows the user the full URL that a server asks them to open, and opens it if they agree (2026-07-28,
 * client/elicitation: Safe URL Handling). This process does not fetch the URL.
 *
 * @param open opens a URL in the browser. Resolves with whether that worked.
 * @throws the signal's reason if it fires first.
 */
export async function offerUrl(
  prompter: Prompter,
  server: string,
  request: UrlRequest,
  open: (url: URL) => Promise<boolean>,
  signal: AbortSignal,
): Promise<ElicitResult> {
  const url = new URL(request.url);
  prompter.print(`${oneLine(server)} asks you to open a URL: ${indentedStart(request.message)}`);
  prompter.print(`  ${url.href}`);
  // A server must not open local programs or files.
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    prompter.print(`  Declined: ${url.protocol} is not http or https.`);
    return { action: 'decline' };
  }
  prompter.print(`  The host is ${url.host}.`);
  for (const warning of warnings(url)) prompter.print(`  Warning: ${warning}`);
  const agreed = await agrees(prompter, 'Open it in the browser?', false, signal);
  if (agreed === undefined) return { action: 'cancel' };
  if (!agreed) return { action: 'decline' };
  if (!(await open(url))) prompter.print('  No browser could be opened. Open the URL yourself.');
  return { action: 'accept' };
}

function warnings(url: URL): string[] {
  const found: string[] = [];
  if (url.hostname.split('.').some((label) => label.startsWith('xn--'))) {
    found.push('the host name has letters that can look like other letters.');
  }
  if (url.username !== '' || url.password !== '') found.push('the text before the @ is not the host.');
  if (url.protocol === 'http:' && !['localhost', '127.0.0.1', '[::1]'].includes(url.hostname)) {
    found.push('the connection is not encrypted: others can read what you enter.');
  }
  return found;
}
