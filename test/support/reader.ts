import { Client, StreamableHTTPClientTransport, type ClientCapabilities } from '@modelcontextprotocol/client';
import { onTestFinished } from 'vitest';

/** The two forms of the protocol: with a handshake and a session, and without both. */
export const eras = ['2025-11-25', '2026-07-28'] as const;

export interface ReaderOptions {
  readonly era?: (typeof eras)[number];
  readonly capabilities?: ClientCapabilities;
  /** The URL of the server, if it listens. */
  readonly url?: string;
}

type Fetch = (request: Request) => Promise<Response>;

/** The official client, connected to a function that answers requests, or to a URL. It is closed after the test. */
export async function reader(fetch: Fetch | undefined, options: ReaderOptions = {}): Promise<Client> {
  const { era = '2025-11-25', capabilities = {}, url = 'http://localhost/mcp' } = options;
  const mode = era === '2026-07-28' ? ({ pin: era } as const) : 'legacy';
  const client = new Client({ name: 'reader', version: '1.0.0' }, { capabilities, versionNegotiation: { mode } });
  onTestFinished(() => client.close());
  const through = fetch && ((input: string | URL, init?: RequestInit) => fetch(new Request(input, init)));
  await client.connect(new StreamableHTTPClientTransport(new URL(url), through ? { fetch: through } : {}));
  return client;
}

/** The first text of a result. */
export function textOf(result: unknown): unknown {
  return (result as { content: { text?: string }[] }).content[0]?.text;
}
