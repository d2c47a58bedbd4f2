import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { root } from './support/process.ts';
import { filesShownIn } from './support/shown.ts';

/** The rows of README's table of runtimes, and the tests that use the runtime. */
const ROWS: Readonly<Record<string, readonly string[]>> = {
  Node: ['test/interop/everything.test.ts', 'test/cli/process.test.ts'],
  'Cloudflare Workers': ['test/workers/worker.test.ts', 'test/workers/durable.test.ts'],
  Browsers: ['test/browser/client-wire.test.ts', 'test/browser/client-login.test.ts', 'test/bundle.test.ts'],
  'Bun and Deno': ['server', 'mounting', 'client', 'bridge', 'commands'].map((name) => `test/runtimes/${name}.test.ts`),
};

describe('README and docs/runtimes.md', () => {
  const [, table] = /## Where it runs\n\n([\s\S]*?)\n\n##/.exec(readFileSync(`${root}README.md`, 'utf8'))!;
  const page = readFileSync(`${root}docs/runtimes.md`, 'utf8');
  const rows = [...table!.matchAll(/^\| \[([^\]]+)\]\(docs\/runtimes\.md#/gm)].map(([, name]) => name!);

  test('have the same runtimes, in the same order', () => {
    const sections = [...page.matchAll(/^## (.+)$/gm)].map(([, name]) => name!);
    expect(rows).toEqual(sections.filter((name) => rows.includes(name)));
    expect(new Set(rows)).toEqual(new Set(Object.keys(ROWS)));
  });

  test.each(Object.entries(ROWS))('name %s, because tests use it', (_name, files) => {
    for (const file of files) expect(existsSync(`${root}${file}`)).toBe(true);
  });

  test.each(filesShownIn('docs/runtimes.md'))('show $file unchanged', ({ shown, actual }) => {
    expect(shown).toBe(actual);
  });
});
