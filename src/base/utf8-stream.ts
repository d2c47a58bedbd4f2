import { StringDecoder } from 'node:string_decoder';

/**
 * Decodes UTF-8 in chunks, which may end within a character. It has Node's own decoder: `TextDecoder` costs several times
 * as much for short chunks. `utf8-stream.browser.ts` replaces this in browsers.
 */
export function utf8Stream(): (chunk: Uint8Array) => string {
  const decoder = new StringDecoder('utf8');
  return (chunk) => decoder.write(chunk);
}
