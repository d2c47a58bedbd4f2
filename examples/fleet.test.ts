import { readFileSync } from 'node:fs';
import { ConfigError, parseConfig } from 'everwire/bridge';
import { expect, test } from 'vitest';
import { NameTable, Naming } from '../src/bridge/fleet/names.ts';
import { TestExchange } from '../test/support/exchange.ts';
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

test('the page shows the example as it is', () => {
  const files = filesShownIn('docs/bridge-fleet.md');
  expect(files.map(({ file }) => file)).toEqual(['examples/fleet.ts']);
  for (const { shown, actual } of files) expect(shown).toBe(actual);
});

test('the example has the tools of both servers', async () => {
  const { tools } = await fleet.service(new TestExchange('tools/list'));
  const names = tools.map(({ name }: { name: string }) => name);
  expect(names).toEqual(['notes__search', 'write', 'mail__search']);
  const called = await fleet.service(new TestExchange('tools/call', { name: 'mail__search' }));
  expect(called['content']).toEqual([{ type: 'text', text: 'three letters' }]);
});

test('the file on the page can be used, and means what is said of it', () => {
  const [, file] = /<!-- the file -->\n\n```json\n([\s\S]*?)```/.exec(page)!;
  const { servers, names, separator, warnings } = parseConfig(file!, 'mcp.json', { env });
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
  expect({ names, separator, warnings }).toEqual({ names: 'clash', separator: '__', warnings: [] });
});

test.each(table('mistakes'))('the mistake in %s is told', (servers, said) => {
  const read = (): unknown => parseConfig(`{"mcpServers":${servers}}`, 'mcp.json', { env });
  expect(read).toThrow(ConfigError);
  expect(read).toThrow(`mcp.json: ${said}`);
});

test('names become what the page says', () => {
  const rows = table('names');
  const names = new Map<string, string[]>();
  for (const [server, name] of rows) names.set(server!, [...(names.get(server!) ?? []), name!]);
  for (const [index, rule] of (['clash', 'always'] as const).entries()) {
    const outside = new NameTable(new Naming(names.keys(), { names: rule }), names);
    const found = rows.map(([server, name]) => outside.outward(server!, name!));
    expect(found).toEqual(rows.map((row) => row[2 + index]));
  }
});
