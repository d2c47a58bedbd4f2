import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { root } from './support/process.ts';

const HEAD = `import { McpServer } from 'everwire/server';
import { z } from 'zod';
const server = new McpServer({ name: 'types', version: '1.0.0' });
`;
const mistakes: readonly [why: string, statement: string, message: string][] = [
  ['inputSchema', "server.tool('t', { inputSchema: { a: z.string() } }, () => 'x');", 'Write input: z.object({ … })'],
  [
    'outputSchema',
    "server.tool('t', { outputSchema: { a: z.string() } }, () => 'x');",
    'Write output: z.object({ … })',
  ],
  [
    'argsSchema',
    "server.prompt('p', { argsSchema: { a: z.string() } }, () => 'x');",
    'Write arguments: { name: { description, required } }',
  ],
  [
    'a schema as an argument of a prompt',
    "server.prompt('p', { arguments: { a: z.string() } }, () => 'x');",
    'Write { description, required }: the value of an argument is always a string',
  ],
  [
    'content without structured content',
    "server.tool('t', { output: z.object({ n: z.number() }) }, () => ({ content: [{ type: 'text', text: '1' }] }));",
    'Return structuredContent beside content, or only the value of output',
  ],
  [
    'a nested form',
    "server.tool('f', {}, async (_, c) => (await c.elicit({ message: 'x', schema: z.object({ a: z.object({}) }) })).action);",
    'A form has only strings, numbers, booleans and lists of choices, and no nested objects',
  ],
  [
    'the URI after the name',
    "server.resource('all', 'x://all', () => 'x');",
    'Write the URI before the name: resource(uri, { name }, handler)',
  ],
];

test('the compiler says what to write instead of the usual mistakes', () => {
  mkdirSync(`${root}.tmp`, { recursive: true });
  const here = mkdtempSync(`${root}.tmp/types-`);
  onTestFinished(() => rmSync(here, { recursive: true }));
  writeFileSync(`${here}/mistakes.ts`, HEAD + mistakes.map(([, statement]) => `${statement}\n`).join(''));
  const compilerOptions = { noEmit: true, incremental: false, declaration: false };
  writeFileSync(
    `${here}/tsconfig.json`,
    JSON.stringify({ extends: '../../tsconfig.json', compilerOptions, include: ['*.ts'], exclude: [] }),
  );
  const tsc = [`${root}node_modules/typescript/bin/tsc`, '--pretty', 'false', '-p', here];
  const { stdout } = spawnSync(process.execPath, tsc, { encoding: 'utf8' });
  const first = HEAD.split('\n').length;
  for (const [index, [why, , message]] of mistakes.entries()) {
    const found = stdout.split(/\n(?=\S)/).filter((each) => each.includes(`mistakes.ts(${first + index},`));
    expect(found.join('\n'), why).toContain(message);
  }
});
