import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { boundedBody } from './bounded-body.ts';
import { firstReason } from './first-reason.ts';

/** Milliseconds for a whole response. */
const TIMEOUT = 5000;

/**
 * Fetches a JSON document. Redirects are not followed, because they could lead away from https.
 *
 * @throws Error that names the URL without its query, if the document does not exist, is larger than 1 MiB, or takes
 * longer than 5 seconds.
 */
export async function fetchJson(fetch: typeof globalThis.fetch, url: URL): Promise<JsonObject> {
  try {
    const response = await fetch(url, {
      headers: { accept: 'application/json' },
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT),
    });
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new Error(`status ${response.status}`);
    }
    const value: unknown = JSON.parse(new TextDecoder().decode(await boundedBody(response.body)));
    if (!isObject(value)) throw new Error('not a JSON object');
    return value;
  } catch (cause) {
    throw new Error(`${url.origin}${url.pathname}: ${firstReason(cause as Error)}`, { cause });
  }
}
