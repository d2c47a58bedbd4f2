import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { checkMessages } from '../scripts/messages.ts';
import { ExitCode } from '../src/cli/failure.ts';
import { ErrorCode } from '../src/jsonrpc/errors.ts';
import { CONNECTION_CLOSED, REQUEST_TIMEOUT } from '../src/jsonrpc/pending.ts';
import { McpErrorCode, RATE_LIMITED } from '../src/protocol/errors.ts';
import { root } from './support/process.ts';

const page = readFileSync(`${root}docs/errors.md`, 'utf8');

/** The first column of the table below a heading. */
function codesUnder(heading: string): number[] {
  const [section] = page.split(`\n### ${heading}\n`)[1]!.split('\n#');
  return Array.from(section!.matchAll(/^\| `(-?\d+)`/gm), ([, code]) => Number(code));
}

const sorted = (codes: Iterable<number>): number[] => [...new Set(codes)].toSorted((one, other) => one - other);

test('docs/errors.md has an entry for each message of the source, and no others', () => {
  expect(checkMessages(root)).toEqual([]);
});

test('docs/errors.md has all exit codes, and docs/cli.md the same', () => {
  expect(codesUnder('Exit codes of the command line')).toEqual(sorted(Object.values(ExitCode)));
  const cli = readFileSync(`${root}docs/cli.md`, 'utf8').split('| Exit code |')[1]!.split('\n\n')[0]!;
  expect(Array.from(cli.matchAll(/^\| (\d+)/gm), ([, code]) => Number(code))).toEqual(sorted(Object.values(ExitCode)));
});

test('docs/errors.md has all JSON-RPC codes', () => {
  expect(sorted(codesUnder('Codes of JSON-RPC errors'))).toEqual(
    sorted([
      ...Object.values(ErrorCode),
      ...Object.values(McpErrorCode),
      ...[CONNECTION_CLOSED, REQUEST_TIMEOUT, RATE_LIMITED],
    ]),
  );
});

test('docs/errors.md has all HTTP statuses of a server', () => {
  const files = ['transport/http/server', 'auth', 'operate', 'wire/modern/translate'].flatMap(filesIn);
  const statuses = files.flatMap((file) => {
    const code = readFileSync(`${root}src/${file}`, 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '');
    return Array.from(code.matchAll(/(?<![\w.])[45]\d\d(?!\w)/g), ([status]) => Number(status));
  });
  expect(codesUnder('HTTP statuses of a server')).toEqual(sorted(statuses));
});

/** The sources in a folder, but not those of a client. */
function filesIn(folder: string): string[] {
  return readdirSync(`${root}src/${folder}`, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && !name.startsWith('client'))
    .map((name) => path.posix.join(folder, name.replaceAll('\\', '/')));
}
