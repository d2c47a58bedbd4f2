import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { root } from '../../support/process.ts';
import { examplesOn, optionsOn, readPage, seenThrough } from './commands.ts';

const modules = `${root}node_modules`;

/** The options in the `--help` of a program that uses yargs. */
function helpOf(program: string): string[] {
  const help = execFileSync(process.execPath, [`${modules}/${program}`, '--help'], { encoding: 'utf8' });
  return Array.from(help.matchAll(/^ {2}(--\w+)/gm), ([, option]) => option!);
}

/** `mcp-remote` has no list of its options: they are the flags that its parser compares arguments with. */
function parsedByMcpRemote(): string[] {
  const source = readdirSync(`${modules}/mcp-remote/dist`)
    .map((name) => readFileSync(`${modules}/mcp-remote/dist/${name}`, 'utf8'))
    .find((text) => text.includes('async function parseCommandLineArgs('))!;
  const start = source.indexOf('function parseAuthorizeParams(');
  const end = source.indexOf('if (!serverUrl)', start);
  const patterns = /(?:includes\(|indexOf\(|=== |!== |Option\(args, )"(--[\w-]+)"/g;
  return Array.from(source.slice(start, end).matchAll(patterns), ([, option]) => option!).filter(
    (flag) => flag !== '--',
  );
}

const unique = (words: readonly string[]): string[] => [...new Set(words)].toSorted();

describe.each([
  ['mcp-remote', parsedByMcpRemote, 30],
  ['mcp-proxy', () => helpOf('mcp-proxy/dist/bin/mcp-proxy.mjs'), 25],
  ['supergateway', () => helpOf('supergateway/dist/index.js'), 18],
] as const)('the page about %s', (program, options, atLeast) => {
  test('names every option of the program, and no other', () => {
    const theirs = unique(options());
    expect(theirs.length).toBeGreaterThanOrEqual(atLeast);
    expect(optionsOn(`${program}.md`)).toEqual(theirs);
  });

  test('names the version whose options it lists', () => {
    const { version } = JSON.parse(readFileSync(`${modules}/${program}/package.json`, 'utf8'));
    const [major, minor] = version.split('.');
    expect(readPage(`${program}.md`)).toContain(`These are all options of \`${program}\` ${major}.${minor}.`);
  });
});

const key = { 'x-api-key': 'a-secret-key' };
const token = 'Bearer a-secret-token';

// For each example of a page: the endpoint if the command listens, the client's headers, and what the server must get.
interface Run {
  readonly at?: string;
  readonly headers?: Record<string, string>;
  readonly authorization?: string;
  /** Set if the server offers more tools through Everwire, because it can ask its client there. */
  readonly more?: true;
}

const runs: Record<string, Run[]> = {
  'mcp-remote': [{}, { authorization: token }, {}],
  'mcp-proxy': [{ at: '/mcp' }, { at: '/tools', headers: key }, { at: '/mcp', more: true }],
  supergateway: [{ at: '/sse' }, { at: '/tools' }, { authorization: token }, {}],
};

const examples = Object.entries(runs).flatMap(([program, expected]) => {
  const found = examplesOn(`${program}.md`, program);
  if (found.length !== expected.length) throw new Error(`${program}.md has ${found.length} examples`);
  return found.map((example, index) => ({ program, number: index + 1, example, run: expected[index]! }));
});

describe.skipIf(process.platform === 'win32')('a command of a page', () => {
  test.each(examples)(
    '$program, $number, does the same before and after',
    async ({ example: { before, after }, run: { at, headers, authorization, more } }) => {
      const now = await seenThrough(after, at, headers);
      const then = await seenThrough(before, at, headers);
      const tools = more ? now.tools.filter((name) => then.tools.includes(name)) : now.tools;
      expect(tools).toEqual(then.tools);
      expect(then.tools).toContain('echo');
      expect(now.echo).toEqual([{ type: 'text', text: 'Echo: hello' }]);
      expect(then.echo).toEqual(now.echo);
      if (authorization === undefined) return;
      expect(now.authorization).toEqual([authorization]);
      expect(then.authorization).toContain(authorization);
    },
  );
});
