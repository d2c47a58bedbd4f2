import {
  type Client,
  connect,
  ConnectionError,
  TimeoutError,
  type Authorizer,
  type CachedEra,
  type ClientOptions,
  type EraCache,
  type HttpClientOptions,
  type Target,
} from 'everwire/client';
import { server } from './server.js';

const entries = new Map<string, CachedEra>();
const eraCache: EraCache = { get: (key) => entries.get(key), set: (key, entry) => void entries.set(key, entry) };
const authorizer: Authorizer = {
  headers: async ({ method, url }) => ({ authorization: `${method} ${url.href}` }),
  refused: async ({ headers }, response) => response.status === 401 && 'authorization' in headers,
};
const http: HttpClientOptions = { authorizer, fetch: globalThis.fetch, headers: undefined };

const options: ClientOptions = {
  ...http,
  eraCache,
  clientInfo: { name: 'reader', version: '1.0.0' },
  onelicit: ({ message }) => ({ action: 'accept', content: { name: message } }),
  onsample: async () => ({ role: 'assistant', model: 'm', content: { type: 'text', text: '' } }),
  onchange: (change) => void change,
  signal: undefined,
};

const targets: readonly Target[] = [
  server,
  'https://mcp.example.com/mcp',
  { command: 'node', args: ['server.js'] },
  { url: 'https://mcp.example.com/sse', transport: 'sse' },
];

export async function run(): Promise<string> {
  const client: Client = await connect(targets[0] ?? server, options);
  try {
    const [tool] = await client.listTools();
    const result = await client.callTool(tool?.name ?? 'lend', { title: 'Momo' }, { timeout: 1000, signal: undefined });
    const [first] = result.content;
    await client.readResource('library://rules', { fresh: true });
    return first?.type === 'text' ? first.text : '';
  } catch (error) {
    if (error instanceof TimeoutError || error instanceof ConnectionError) return error.message;
    throw error;
  } finally {
    await client.close();
  }
}
