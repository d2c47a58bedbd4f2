import { ConnectionError, RpcError, TimeoutError, type Client } from 'everwire/client';
import { z } from 'zod';

const Books = z.object({ books: z.array(z.object({ title: z.string(), year: z.number() })) });

/** Checks and types the structured content of a result. */
export async function yearOf(client: Client, title: string): Promise<number | undefined> {
  const { structuredContent } = await client.callTool('search', { title }, { output: Books });
  return structuredContent?.books[0]?.year;
}

/** A long call that reports progress, has time limits and can be cancelled. */
export async function dust(client: Client, signal: AbortSignal): Promise<string> {
  try {
    const { isError } = await client.callTool(
      'dust',
      { shelves: 3 },
      {
        signal,
        timeout: 10_000,
        maxTimeout: 60_000,
        onprogress: ({ progress, total }) => console.log(`${progress} of ${total ?? '?'}`),
      },
    );
    return isError ? 'failed' : 'done';
  } catch (error) {
    if (error instanceof TimeoutError) return `no answer within ${error.limit} ms`;
    if (error instanceof ConnectionError) return `connection failed: ${error.message}`;
    if (error instanceof RpcError) return `refused with ${error.code}: ${error.message}`;
    throw error;
  }
}
