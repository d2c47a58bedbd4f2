import { readFileSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { describe, expect, test } from 'vitest';
import { fetch as mounted, http } from '../examples/guide/mount.ts';
import { filesShownIn } from './support/shown.ts';

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');

describe('the README', () => {
  const files = filesShownIn('README.md');

  test('shows the files of its examples', () => {
    const shown = ['examples/demo.ts', 'examples/client/first.ts'];
    expect(files.map(({ file }) => file)).toEqual(shown);
  });

  test.each(files)('shows $file unchanged', ({ shown, actual }) => {
    expect(shown).toBe(actual);
  });

  test('names commands that exist', () => {
    const { scripts } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
    const named = [...readme.matchAll(/npm (?:run )?(start|test|bench)\b/g)].map(([, name]) => name!);
    expect(named.length).toBeGreaterThan(2);
    for (const name of named) expect(scripts).toHaveProperty(name);
  });
});

describe("the example with the official SDK's server", () => {
  async function hello(url: URL, fetch?: typeof globalThis.fetch): Promise<unknown> {
    const client = new Client({ name: 'reader', version: '1.0.0' });
    await client.connect(new StreamableHTTPClientTransport(url, fetch ? { fetch } : {}));
    const { content } = await client.callTool({ name: 'hello' });
    await client.close();
    return content;
  }

  test('answers as a fetch function', async () => {
    const fetch = ((input: string | URL, init?: RequestInit) =>
      mounted(new Request(input, init))) as typeof globalThis.fetch;
    expect(await hello(new URL('http://localhost/mcp'), fetch)).toEqual([{ type: 'text', text: 'Hello!' }]);
  });

  test('answers in a node:http server', async () => {
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    const address = http.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    try {
      expect(await hello(new URL(`http://127.0.0.1:${address.port}/mcp`))).toEqual([{ type: 'text', text: 'Hello!' }]);
    } finally {
      http.closeAllConnections();
      http.close();
    }
  });
});
