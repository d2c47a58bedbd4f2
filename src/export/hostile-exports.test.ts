import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../test/support/command-line.ts';
import { printable } from '../base/printable.ts';
import type { RecordedCall } from '../mock/recorded-call.ts';
import { curlScript } from './curl.ts';
import { harLog } from './har.ts';
import { readHead } from './http-head.ts';
import { Masks } from './masks.ts';
import type { RecordedExchange } from './recorded-wire.ts';
import { vitestFile } from './vitest-file.ts';

const run = promisify(execFile);
const masks = new Masks({ exchanges: [], parts: [] });
const hasCurl =
  process.platform !== 'win32' &&
  (await run('curl', ['--version']).then(
    () => true,
    () => false,
  ));
if (!hasCurl) console.warn('SKIPPED: there is no curl, so its commands for hostile recordings were not run');

function exchange(head: string, body: string): RecordedExchange {
  return { n: 1, records: [1], conn: 1, sent: 0, request: readHead(head), body, responseBody: '' };
}

function call(method: string, params: object, questions: readonly string[] = []): RecordedCall {
  const step = { sent: 1, related: true, isOwn: true, subscription: undefined, waitsFor: [], delay: 0 };
  const result = { content: [] };
  return {
    ...{ n: 1, revision: '2025-11-25', session: 1, sent: 0, answered: 2, cancelled: undefined },
    message: { jsonrpc: '2.0', id: 1, method, params: { ...params } },
    steps: [
      ...questions.map((asked) => ({
        ...{ ...step, message: { jsonrpc: '2.0' as const, id: 2, method: asked, params: {} } },
        answer: { jsonrpc: '2.0' as const, id: 2, result: { recorded: true } },
      })),
      { ...step, answer: undefined, message: { jsonrpc: '2.0', id: 1, result } },
    ],
  };
}

test.skipIf(!hasCurl)('a recorded request cannot make curl send a file, or send it more than once', async () => {
  const got: { url: string | undefined; headers: string[]; body: string }[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      got.push({ url: request.url, headers: request.rawHeaders, body: Buffer.concat(chunks).toString() });
      response.end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const file = path.join(temporaryFolder(), 'private: file');
  writeFileSync(file, 'X-Private: planted\n');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const script = curlScript(
    [exchange(`POST /mcp?[1-3]{a,b} HTTP/1.1\r\nHost: ${host}\r\n@${file}\r\nX-Fine: a\r\n\r\n`, `@${file}`)],
    masks,
  );
  await run('sh', ['-c', script]);
  expect(got).toMatchObject([{ url: '/mcp?[1-3]{a,b}', body: `@${file}` }]);
  expect(got[0]!.headers).toContain('X-Fine');
  expect(got[0]!.headers).not.toContain('X-Private');
});

test('a recording cannot name variables that have another purpose', () => {
  const head = 'POST /mcp?my-token=x HTTP/1.1\r\nHost: evil.example\r\nAws-Secret-Access-Key: x\r\n\r\n';
  const body = JSON.stringify({ github_token: 'x' });
  const script = curlScript([exchange(head, body)], masks);
  const used = Array.from(script.matchAll(/\$\{?(\w+)/g), ([, name]) => name);
  expect(new Set(used)).toEqual(new Set(['MCP_MY_TOKEN', 'MCP_AWS_SECRET_ACCESS_KEY', 'MCP_GITHUB_TOKEN']));
  const params = { name: 'x', arguments: { github_token: 'x', text: '\u0000PATH' } };
  const file = vitestFile([call('tools/call', params)], { exchanges: [exchange(head, body)], parts: [] }, 'x', masks);
  const read = Array.from(file.matchAll(/process\.env\[["'](\w+)/g), ([, name]) => name);
  expect(new Set(read)).toEqual(new Set(['MCP_SERVER', 'MCP_AWS_SECRET_ACCESS_KEY', 'MCP_GITHUB_TOKEN']));
  expect(file).toContain(String.raw`"text": "\u0000PATH"`);
});

test('a question with an odd name is left out of a Vitest file', () => {
  const calls = [call('tools/call', { name: 'x' }, ['__proto__', 'elicitation/create'])];
  const file = vitestFile(calls, { exchanges: [], parts: [] }, 'x', masks);
  expect(file).toContain('const answers = { "elicitation/create": [{ "result": { "recorded": true } }] };');
});

/** A C1 control, an override of the writing direction, an invisible character, a line separator. */
const UNSAFE = '\u009b31m \u202e \u200b \u2028 \u007f';

test.each([
  ['har', (one: RecordedExchange) => harLog([one], '2026-01-01T00:00:00.000Z', masks)],
  ['curl', (one: RecordedExchange) => curlScript([one], masks)],
  [
    'vitest',
    (one: RecordedExchange) =>
      vitestFile([call('tools/call', { name: UNSAFE })], { exchanges: [one], parts: [] }, 'x', masks),
  ],
] as const)('%s has no characters that control a terminal or hide code', (_, write) => {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: UNSAFE });
  const text = write(exchange(`POST /mcp HTTP/1.1\r\nHost: a.example\r\nX-Text: ${UNSAFE}\r\n\r\n`, body));
  expect(printable(text)).toBe(text);
});

test.skipIf(process.platform === 'win32')('a shell script sends such characters as they were recorded', async () => {
  const body = JSON.stringify({ text: `it's ${UNSAFE} é 漢 👩‍💻 %s \\ $x` });
  const script = curlScript([exchange('POST /mcp HTTP/1.1\r\nHost: a.example\r\n\r\n', body)], masks);
  const { stdout } = await run('sh', ['-c', `curl() { printf '%s\\n' "$@"; }\n${script}`]);
  expect(stdout.split('\n')).toContain(body);
});

test('a time after the last date is the last date in HAR', () => {
  const late = { ...exchange('GET /mcp HTTP/1.1\r\nHost: a.example\r\n\r\n', ''), sent: Number.MAX_SAFE_INTEGER };
  const { log } = JSON.parse(harLog([late], '+275760-01-01T00:00:00.000Z', masks));
  expect(log.entries[0].startedDateTime).toBe('+275760-09-13T00:00:00.000Z');
});
