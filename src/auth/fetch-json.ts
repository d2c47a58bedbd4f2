import { isObject, type JsonObject } from '../jsonrpc/message.ts';

/** Milliseconds for all of an answer, and its bytes. */
const TIMEOUT = 5000;
const MAX_BYTES = 1024 * 1024;

/**
 * Reads a JSON document. Redirects are not followed: they could lead away from https.
 *
 * @throws Error that names the address without its query, where there is no such document, or it is too large, or takes
 * longer than 5 seconds.
 */
export async function fetchJson(fetch: typeof globalThis.fetch, url: URL): Promise<JsonObject> {
  const fail = (why: string, cause?: unknown): Error => new Error(`${url.origin}${url.pathname}: ${why}`, { cause });
  try {
    const response = await fetch(url, {
      headers: { accept: 'application/json' },
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT),
    });
    if (response.status !== 200) {
      await response.body?.cancel();
      throw fail(`status ${response.status}`);
    }
    const value: unknown = JSON.parse(await boundedText(response));
    if (!isObject(value)) throw fail('not a JSON object');
    return value;
  } catch (error) {
    const { message } = error as Error;
    throw message.startsWith(url.origin) ? error : fail(message, error);
  }
}

async function boundedText(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.byteLength;
    // Leaving the loop takes the rest of the answer back.
    if (length > MAX_BYTES) throw new Error(`more than ${MAX_BYTES} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
