/** Replaces `utf8-stream.ts` in browsers. */
export function utf8Stream(): (chunk: Uint8Array) => string {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  return (chunk) => decoder.decode(chunk, { stream: true });
}
