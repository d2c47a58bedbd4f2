import { readFileSync } from 'node:fs';
import { ConfigError, createFleet, parseConfig } from 'everwire/bridge';
import { expect, test } from 'vitest';
import { TestExchange } from '../test/support/exchange.ts';
import { scripted } from '../test/support/service.ts';
import { filesShownIn } from '../test/support/shown.ts';
import { fleet } from './fleet.ts';

const page = readFileSync(new URL('../docs/bridge-fleet.md', import.meta.url), 'utf8');
const env = { NOTES_KEY: 'k', MAIL_TOKEN: 't' };

/** The rows of the table behind a comment, as their cells without backquotes. */
function table(comment: string): string[][] {
  const rows = page.split(`<!-- ${comment} -->`)[1]!.split('\n\n')[1]!.split('\n').slice(2);
  return rows.map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim().replace(/^`(.*)`$/, '$1')),
  );
}

test('the page shows the example unchanged', () => {
  const files = filesShownIn('docs/bridge-fleet.md');
  expect(files.map(({ file }) => file)).toEqual(['examples/fleet.ts']);
  for (const { shown, actual } of files) expect(shown).toBe(actual);
});

test('the example has the tools of both servers', async () => {
  const { tools } = await fleet.service(new TestExchange('tools/list'));
  const names = tools.map(({ name }: { name: string }) => name);
  expect(names).toEqual(['notes__search', 'notes__write', 'mail__search']);
  const called = await fleet.service(new TestExchange('tools/call', { name: 'mail__search' }));
  expect(called['content']).toEqual([{ type: 'text', text: 'three letters' }]);
});

test('the configuration on the page is valid and has the described meaning', () => {
  const [, file] = /<!-- the file -->\n\n```json\n([\s\S]*?)```/.exec(page)!;
  const { servers, separator } = parseConfig(file!, 'mcp.json', { env });
  expect(servers).toEqual([
    {
      kind: 'command',
      name: 'notes',
      command: 'npx',
      args: ['-y', 'notes-server'],
      env: { NOTES_KEY: 'k' },
      withheld: expect.any(Array),
      tools: {},
    },
    {
      kind: 'url',
      name: 'mail',
      url: 'https://mail.example.com/mcp',
      headers: { Authorization: 'Bearer t' },
      tools: {
        hide: ['delete_*'],
        only: undefined,
        rename: { q: 'find' },
        describe: { q: 'Find letters by their words.' },
      },
    },
  ]);
  expect(separator).toBe('__');
});

test('the error message on the page is what the fleet returns', () => {
  const [, said] = /\neverwire: --config: (mcp\.json: .*)\n/.exec(page)!;
  const read = (): unknown =>
    parseConfig('{\n  "mcpServers": {\n    "a": { "comand": "x" }\n  }\n}', 'mcp.json', { env });
  expect(read).toThrow(ConfigError);
  expect(read).toThrow(said);
});

test('names have the prefixes that the page describes', async () => {
  const rows = table('names');
  const members = [...new Set(rows.map(([server]) => server!))].map((name) => {
    const tools = rows
      .filter(([server]) => server === name)
      .map(([, tool]) => ({ name: tool, inputSchema: { type: 'object' } }));
    const rename: Record<string, string> = name === 'mail' ? { q: 'find' } : {};
    const { service } = scripted({ 'tools/list': () => ({ tools }) }, { tools: {} });
    return { name, service, tools: { rename } };
  });
  const { tools } = await createFleet({ members }).service(new TestExchange('tools/list'));
  expect(tools.map(({ name }: { name: string }) => name)).toEqual(rows.map(([, , outward]) => outward));
});
