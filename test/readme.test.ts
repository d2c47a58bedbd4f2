import { readFileSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { describe, expect, test } from 'vitest';
import { fetch as mounted, http } from '../examples/guide/mount.ts';
import { filesShownIn } from './support/shown.ts';

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
const { repository, scripts } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

describe('the README', () => {
  const files = filesShownIn('README.md');

  test('shows the files of its examples', () => {
    const shown = ['examples/guide/first.ts', 'examples/client/first.ts'];
    expect(files.map(({ file }) => file)).toEqual(shown);
  });

  test.each(files)('shows $file unchanged', ({ shown, actual }) => {
    expect(shown).toBe(actual);
  });

  test('says on its first screen how to begin, as a user and in a clone', () => {
    const screen = readme.split('\n').slice(0, 48).join('\n');
    for (const command of ['npm install everwire', 'npx everwire demo', 'npm ci && npm start', 'npm ci && npm test'])
      expect(screen).toContain(command);
  });

  // The site of npm makes relative links absolute only for a repository at GitHub.
  test('has links that work on the site of npm', () => {
    expect(repository.url).toMatch(/^git\+https:\/\/github\.com\/[\w-]+\/[\w-]+\.git$/);
  });

  test('names commands that exist', () => {
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
