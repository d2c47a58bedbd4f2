import type { IncomingMessage } from 'node:http';

/** The body of a request as text. Undefined if it has more than `max` bytes. Then the rest is not read. */
export async function requestBody(request: IncomingMessage, max: number): Promise<string | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > max) return undefined;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > max) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
