import { expect, onTestFinished, test } from 'vitest';
import { Capture } from '../inspect/capture.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { McpServer } from '../server/index.ts';
import { askingServer } from '../../test/support/asking-server.ts';
import { root } from '../../test/support/process.ts';
import { check } from './check.ts';
import type { CheckedServer } from './server.ts';

const stdio = (fault: string): CheckedServer => ({
  kind: 'command',
  target: { command: process.execPath, args: [`${root}test/fixtures/faulty.mjs`, fault, 'stdio'] },
});

async function counting(): Promise<{ server: CheckedServer; calls: JsonObject[]; close: () => Promise<void> }> {
  const calls: JsonObject[] = [];
  const server = new McpServer({ name: 'counting', version: '1.0.0', onerror: () => {} });
  const count = (args: JsonObject): string => {
    calls.push(args);
    return 'done';
  };
  server.tool('write', { input: { type: 'object', properties: { text: { type: 'string' } } } }, (args) =>
    count(args as JsonObject),
  );
  const listener = await server.listen({ port: 0 });
  return {
    server: { kind: 'url', url: new URL(listener.url), headers: {} },
    calls,
    close: () => listener.close(),
  };
}

test('a server that breaks one rule gets this finding, with the records that show it', async () => {
  const capture = new Capture();
  const result = await check(stdio('prompt-unknown'), capture);
  expect(result.spoken.map(({ revision }) => revision)).toEqual([
    '2026-07-28',
    '2025-11-25',
    '2025-06-18',
    '2025-03-26',
    '2024-11-05',
  ]);
  const findings = result.findings.filter(({ rule }) => rule.id === 'prompt-unknown');
  expect(findings.map(({ revision }) => revision).toSorted()).toEqual(['2025-11-25', '2026-07-28']);
  expect(result.findings.filter(({ rule }) => rule.id !== 'prompt-unknown')).toEqual([]);
  const [n] = findings[0]!.records;
  const shown = [];
  for await (const records of capture.records()) shown.push(...records.filter((record) => record.n === n));
  expect(shown).toMatchObject([{ layer: 'message', dir: 's>c', kind: 'error' }]);
});

test('no tool is called but those that are allowed, with the given arguments', async () => {
  const { server, calls, close } = await counting();
  try {
    const untouched = await check(server, new Capture());
    expect(calls).toEqual([]);
    expect(untouched.notTried).toContainEqual({ what: '1 tool was not called: write', how: "--call 'write={…}'" });
    const called = await check(server, new Capture(), { calls: [{ tool: 'write', args: { text: 'a' } }] });
    expect(new Set(calls.map(({ text }) => text as string))).toEqual(new Set(['a']));
    expect(called.notTried.map(({ what }) => what).join()).not.toContain('not called');
  } finally {
    await close();
  }
});

test('bad input is also tried over HTTP+SSE', async () => {
  const { server, close } = await askingServer('sse');
  onTestFinished(close);
  const result = await check(server, new Capture(), { calls: [{ tool: 'ask', args: {} }] });
  expect(result.spoken.map(({ route }) => route)).toEqual(['http+sse', 'http+sse', 'http+sse', 'http+sse']);
  expect(result.findings).toEqual([]);
  const tried = ['sse-own-stream', 'sse-session-ended', 'origin-checked', 'not-json', 'resource-subscription'];
  expect([...result.exercised]).toEqual(expect.arrayContaining(tried));
});

test('a rule that could not be tried says why', async () => {
  const { skipped } = await check(stdio('nothing'), new Capture());
  expect(skipped.get('request-state-verified')).toBe('no call is allowed');
});

test('a server that cannot be reached or started is an error', async () => {
  const nowhere: CheckedServer = { kind: 'url', url: new URL('http://127.0.0.1:9/mcp'), headers: {} };
  await expect(check(nowhere, new Capture())).rejects.toThrow('ECONNREFUSED');
  const missing: CheckedServer = { kind: 'command', target: { command: '/no/such/command' } };
  await expect(check(missing, new Capture())).rejects.toThrow('there is no such file');
});

test('a check that is cancelled ends with the reason', async () => {
  const controller = new AbortController();
  const checking = check(stdio('nothing'), new Capture(), {
    signal: controller.signal,
    onstep: (step) => {
      if (step.includes('ping')) controller.abort(new Error('enough'));
    },
  });
  await expect(checking).rejects.toThrow('enough');
});
