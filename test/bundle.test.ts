import { rolldown } from 'rolldown';
import { connect } from 'everwire/client';
import type { McpServer } from 'everwire/server';
import { describe, expect, test } from 'vitest';
import { bundle } from './support/bundle.ts';
import { root } from './support/process.ts';

describe('everwire/client in a browser', () => {
  test('needs nothing of Node', async () => {
    const { code, imports } = await bundle(`export * from 'everwire/client';`, ['browser']);
    expect(imports).toEqual([]);
    // Bundlers do not replace globals of Node.
    expect(code).not.toMatch(/\b(?:Buffer\.|process\.|setImmediate\()/);
  });

  test('is small: an import loads at most 25 kB, and everything has at most 55.3 kB', async () => {
    const { size, firstSize } = await bundle(`export * from 'everwire/client';`, ['browser']);
    expect(firstSize).toBeLessThanOrEqual(25_000);
    expect(size).toBeLessThanOrEqual(55_300);
  });

  test('loads at most 25 kB for connect, also with rolldown', async () => {
    const { firstSize } = await bundle(`export { connect } from 'everwire/client';`, ['browser']);
    expect(firstSize).toBeLessThanOrEqual(25_000);
  });

  test.each([
    ['popupRedirect', 28_500],
    ['pageRedirect', 28_750],
  ])('loads its OAuth with %s, and needs nothing of Node for it', async (redirect, size) => {
    const { code, imports, firstSize } = await bundle(
      `export { connect } from 'everwire/client'; export { oauth, ${redirect}, WebTokenStore } from 'everwire/auth';`,
      ['browser'],
    );
    expect(imports).toEqual([]);
    expect(code).not.toMatch(/\b(?:Buffer\.|process\.|setImmediate\()/);
    expect(firstSize).toBeLessThanOrEqual(size);
  });

  test('is bundled by rolldown, too', async () => {
    const made = await rolldown({
      input: 'entry',
      platform: 'browser',
      plugins: [
        {
          name: 'entry',
          resolveId: (id) => (id === 'entry' ? `${root}entry.js` : undefined),
          load: (id) => (id === `${root}entry.js` ? `export * from 'everwire/client';` : undefined),
        },
      ],
    });
    const { output } = await made.generate();
    await made.close();
    const files = output.filter((file) => file.type === 'chunk');
    const names = new Set(files.map(({ fileName }) => fileName));
    expect(files.flatMap(({ imports, dynamicImports }) => [...imports, ...dynamicImports])).not.toEqual([]);
    for (const { imports, dynamicImports } of files)
      expect([...imports, ...dynamicImports].filter((name) => !names.has(name))).toEqual([]);
  });
});

describe('in a worker', () => {
  /** What Workers offer with `nodejs_compat`, in every version of it. */
  const OFFERED = ['node:buffer', 'node:crypto', 'node:events', 'node:fs/promises', 'node:string_decoder'];

  test.each(['everwire/client', 'everwire/server', 'everwire/workers'])(
    '%s needs no sockets and no processes',
    async (name) => {
      const { imports } = await bundle(`export * from '${name}';`, ['workerd', 'worker', 'browser']);
      expect(OFFERED).toEqual(expect.arrayContaining([...new Set(imports)]));
    },
  );

  test('a server answers, and says why it cannot listen', async () => {
    const { code } = await bundle(
      `import { McpServer } from 'everwire/server';
       export const server = new McpServer({ name: 'worker', version: '1.0.0' });
       server.tool('hello', {}, () => 'Hello!');`,
      ['workerd', 'worker', 'browser'],
    );
    const { server } = (await import(`data:text/javascript;base64,${Buffer.from(code).toString('base64')}`)) as {
      server: McpServer;
    };
    const client = await connect('http://localhost/mcp', {
      fetch: (input, init) => server.fetch(new Request(input, init)),
    });
    expect((await client.callTool('hello')).content).toEqual([{ type: 'text', text: 'Hello!' }]);
    await client.close();
    await expect(server.listen({ port: 0 })).rejects.toThrow('listen() needs Node, Deno or Bun');
    await expect(server.stdio()).rejects.toThrow('stdio() needs Node, Deno or Bun');
    await server.close();
  });
});
