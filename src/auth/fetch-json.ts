import { hasMoreKeysAndValues } from '../jsonrpc/bounds.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { boundedBody } from './bounded-body.ts';
import { firstReason } from './first-reason.ts';

/** Milliseconds for a whole response. */
const TIMEOUT = 5000;
/** To parse and copy a document of 1 MiB with very many takes 0.4 seconds. The keys of an issuer have about ten each. */
const MAX_KEYS_AND_VALUES = 50_000;

/**
 * Fetches a JSON document. Redirects are not followed, because they could lead away from https.
 *
 * @throws Error that names the URL without its query, if the document does not exist, is larger than 1 MiB, has more
 * than 50,000 keys and values, or takes longer than 5 seconds.
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
    const text = new TextDecoder().decode(await boundedBody(response.body));
    if (hasMoreKeysAndValues(text, MAX_KEYS_AND_VALUES))
      throw new Error(`the response has more than ${MAX_KEYS_AND_VALUES} keys and values`);
    const value: unknown = JSON.parse(text);
    if (!isObject(value)) throw new Error('not a JSON object');
    return value;
  } catch (cause) {
    throw new Error(`${url.origin}${url.pathname}: ${firstReason(cause as Error)}`, { cause });
  }
}
