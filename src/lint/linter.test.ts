import { expect, test } from 'vitest';
import { build } from 'esbuild';
import { root } from '../../test/support/process.ts';
import { HttpScript, StdioScript, initialize, initialized, modernMeta, rpc } from '../../test/support/wire-script.ts';

const ids = async (script: { findings(): ReturnType<StdioScript['findings']> }): Promise<string[]> =>
  (await script.findings()).map(({ rule, seen }) => `${rule.id}: ${seen}`);

const REVISIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];
const call = { name: 'add', arguments: {} };
/** It cannot be made a string. */
const ODD = { toString: 1 };
const text = { content: [{ type: 'text', text: 'ok' }] };

test.each(REVISIONS)('a plain session of %s over stdio and HTTP has no finding', async (revision) => {
  const stdio = new StdioScript().handshake(revision).call('tools/call', call, text).end();
  expect(await ids(stdio)).toEqual([]);
  const http = new HttpScript().handshake(revision);
  http.exchange(
    { message: rpc(1, 'tools/call', call) },
    { frames: ['id: 1\ndata:\n\n', { jsonrpc: '2.0', id: 1, result: text }] },
  );
  expect(await ids(http.end())).toEqual([]);
});

// Priming events and `retry` are rules of 2025-11-25 only, and the answer on this stream negotiates the revision.
test.each([
  ['has no priming event', [{ jsonrpc: '2.0', id: 0, result: initialized('2025-11-25') }]],
  ['ends before the answer, without retry', ['id: 1\ndata:\n\n']],
])('a stream for initialize that %s has no finding', async (_, frames) => {
  const headers = { 'Mcp-Session-Id': 'session-of-a-test' };
  const http = new HttpScript().exchange({ message: initialize('2025-11-25') }, { frames, headers });
  expect(await ids(http.end())).toEqual([]);
});

test.each([
  [3, '3'],
  ['three', 'three'],
  [{ sum: 3 }, '{ "sum": 3 }'],
])('a wrapped result %j may be sent as the text %j', async (result, said) => {
  const both = { content: [{ type: 'text', text: said }], structuredContent: { result } };
  expect(await ids(new StdioScript().handshake('2025-11-25').call('tools/call', call, both).end())).toEqual([]);
});

test.each<[string, object, object, string]>([
  ['tools/list', {}, { tools: [{ name: ODD, inputSchema: { type: 'object', $schema: ODD } }] }, 'tool-schema-dialect'],
  [
    'tools/list',
    {},
    { tools: [{ name: 'a', inputSchema: { type: 'object', $schema: [ODD] } }] },
    'tool-schema-dialect',
  ],
  [
    'tools/call',
    { ...call, inputResponses: { a: {} }, requestState: 's' },
    { resultType: 'input_required', inputRequests: { a: { method: ODD } }, requestState: 's' },
    'input-request-kind',
  ],
])('what is no text where one belongs is a finding, and no error: %s, %j', async (method, params, result, id) => {
  const stdio = new StdioScript();
  for (let times = 0; times < 2; times += 1) stdio.call(method, { ...params, _meta: modernMeta() }, { ...result });
  expect((await stdio.end().findings()).map(({ rule }) => rule.id)).toContain(id);
});

test('plain requests of 2026-07-28 have no finding', async () => {
  const stdio = new StdioScript();
  stdio.call('server/discover', { _meta: modernMeta() }, discovered);
  expect(await ids(stdio.end())).toEqual([]);
});

const discovered = {
  resultType: 'complete',
  supportedVersions: ['2026-07-28'],
  capabilities: {},
  serverInfo: { name: 's', version: '1' },
  ttlMs: 0,
  cacheScope: 'private',
  _meta: { 'io.modelcontextprotocol/serverInfo': { name: 's', version: '1' } },
};

test('a finding names the rule, the revision, the clause, the records and what was seen, escaped', async () => {
  const script = new StdioScript().handshake('2025-11-25');
  script.raw('s>c', 'Server started \u001b[31m\n');
  const [finding, ...others] = await script.findings();
  expect(others).toEqual([]);
  expect(finding).toMatchObject({
    rule: { id: 'stdio-stdout-only-messages', area: 'stdio', severity: 'error' },
    revision: '2025-11-25',
    clause: 'basic/transports 3,5',
    seen: String.raw`a line that is no message: "Server started \u001b[31m"`,
  });
  expect(script.records.find(({ n }) => n === finding!.records[0])).toMatchObject({ layer: 'line', dir: 's>c' });
});

test('the engine runs in browsers: it imports no module of Node', async () => {
  const { metafile } = await build({
    entryPoints: [`${root}src/lint/index.ts`],
    bundle: true,
    write: false,
    platform: 'browser',
    format: 'esm',
    splitting: true,
    outdir: 'out',
    metafile: true,
    logLevel: 'silent',
  });
  expect(Object.keys(metafile.inputs)).toContain('src/lint/schemas/schema-2026-07-28.ts');
});

test('a message that takes long to read is not judged, and what depends on it neither', async () => {
  const wide = rpc(7, 'x/y', { values: Array.from({ length: 60_000 }, () => 1) });
  const script = new StdioScript().handshake('2025-11-25').client(wide).server({ jsonrpc: '2.0', id: 7, result: [] });
  // The answer has no known request, but its own shape is judged.
  expect(await ids(script)).toEqual(['result-object: a result that is []']);
});

test('connections that were opened before the recording have no parts, and no finding', async () => {
  const script = new StdioScript();
  script.bytes(99, 's>c', 'Server started\n');
  expect(await ids(script)).toEqual([]);
});

test('a request that was refused with an HTTP status may be sent again with its id', async () => {
  const http = new HttpScript().handshake('2025-11-25');
  const challenge = { 'WWW-Authenticate': 'Bearer resource_metadata="https://example.com/", scope="a"' };
  const again = { message: rpc(1, 'tools/call', { ...call, _meta: { progressToken: 1 } }) };
  http.exchange(again, { status: 401, headers: challenge });
  http.exchange(again, { message: { jsonrpc: '2.0', id: 1, result: text } });
  expect(await ids(http.end())).toEqual([]);
});
