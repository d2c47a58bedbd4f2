import { afterEach, describe, expect, test, vi } from 'vitest';
import { SessionSeal } from './session-seal.ts';

const KEY = 'a secret of enough bytes';
const seal = new SessionSeal(KEY);

function params(clientInfo: object = { name: 'test', version: '1.0.0' }, capabilities: object = {}) {
  return { protocolVersion: '2025-11-25', capabilities, clientInfo };
}

afterEach(() => {
  vi.useRealTimers();
});

test.each([
  {},
  { roots: {} },
  { roots: { listChanged: true }, sampling: {}, elicitation: {} },
  { roots: { listChanged: false }, elicitation: { form: { applyDefaults: true }, url: {} } },
  { sampling: { context: {}, tools: {} }, elicitation: { form: {} } },
  { extensions: { 'io.modelcontextprotocol/tasks': {} } },
  { elicitation: {}, extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } } },
  { tasks: {} },
  { tasks: { requests: {} } },
  { tasks: { requests: { sampling: {}, elicitation: {} } } },
  { extensions: {} },
  { tasks: { list: {}, cancel: {}, requests: { sampling: { createMessage: {} }, elicitation: { create: {} } } } },
])('another process with the key knows how the session was opened: %j', (capabilities) => {
  const id = seal.seal(params(undefined, capabilities), 'alice')!;
  expect(id).toMatch(/^[a-z0-9]{40,128}$/);
  expect(new SessionSeal(KEY).open(id, 'alice')).toEqual(params(undefined, capabilities));
});

test.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])('the revision %s is kept', (protocolVersion) => {
  const given = { ...params(), protocolVersion };
  expect(seal.open(seal.seal(given, undefined)!, undefined)).toEqual(given);
});

test.each(['2026-07-28', '2099-01-01', undefined, 7])('instead of %j, the newest with sessions is kept', (version) => {
  const id = seal.seal({ ...params(), protocolVersion: version }, undefined)!;
  expect(seal.open(id, undefined)!['protocolVersion']).toBe('2025-11-25');
});

test.each([
  ['Größe \u{1F4E6}', '1'],
  ['', ''],
  ['a\0b', '\0'],
  ['"],["', '\\'],
  ['\ud800', '1'],
  ['a-client-of-thirty-two-characters', '1.105.0'],
  ['the longest name that has enough room...', '1'],
])('the client %j %j is kept as it is', (name, version) => {
  const id = seal.seal(params({ name, version }), undefined)!;
  expect(seal.open(id, undefined)!['clientInfo']).toEqual({ name, version });
});

test.each<[string, unknown]>([
  ['a long name', params({ name: 'n'.repeat(41), version: '1' })],
  ['another capability', params(undefined, { experimental: { mine: {} } })],
  ['another extension', params(undefined, { extensions: { 'com.example/x': {} } })],
  ['a setting of a capability', params(undefined, { sampling: { depth: 3 } })],
  ...[
    [],
    ['text/html'],
    'text/html',
    { 0: 'text/html;profile=mcp-app' },
    ['text/html;profile=mcp-app', 'text/html'],
  ].map((mimeTypes): [string, unknown] => [
    `the types ${JSON.stringify(mimeTypes)}`,
    params(undefined, { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes } } }),
  ]),
  ['something else than a truth value', params(undefined, { roots: { listChanged: 1 } })],
  ['no version', params({ name: 'test' })],
  ['no name', params({ version: '1' })],
  ['no capabilities', { clientInfo: { name: 'test', version: '1' } }],
  ['no parameters', undefined],
])('there is no id for %s', (_, given) => {
  expect(seal.seal(given, undefined)).toBeUndefined();
});

describe('an id is worth nothing', () => {
  const id = seal.seal(params(), 'alice')!;

  test('with another key', () => {
    expect(new SessionSeal('another secret of enough bytes').open(id, 'alice')).toBeUndefined();
  });

  test.each(['bob', undefined, 'alice '])('to the principal %j', (principal) => {
    expect(seal.open(id, principal)).toBeUndefined();
  });

  test('to a principal named like a caller without one', () => {
    for (const name of ['nobody', 'undefined'])
      expect(seal.open(seal.seal(params(), undefined)!, name)).toBeUndefined();
  });

  test('with any character changed, removed, added or in upper case', () => {
    for (let at = 0; at < id.length; at += 1) {
      const other = id[at] === 'a' ? 'b' : 'a';
      expect(seal.open(id.slice(0, at) + other + id.slice(at + 1), 'alice')).toBeUndefined();
    }
    for (let length = 8; length < id.length; length += 8) {
      expect(seal.open('0'.repeat(length), 'alice')).toBeUndefined();
      expect(seal.open(id.slice(-length), 'alice')).toBeUndefined();
    }
    for (const wrong of [id.slice(1), id.slice(8), `${id}0`, `${id}00000000`, id.toUpperCase(), '', '0'.repeat(128)])
      expect(seal.open(wrong, 'alice')).toBeUndefined();
  });

  test('after a day', () => {
    // An id says the second in which it was made.
    vi.useFakeTimers({ toFake: ['Date'], now: 1_800_000_000_000 });
    const young = seal.seal(params(), 'alice')!;
    vi.advanceTimersByTime(24 * 3_600_000);
    expect(seal.open(young, 'alice')).toEqual(params());
    vi.advanceTimersByTime(1);
    expect(seal.open(young, 'alice')).toBeUndefined();
  });

  test('where its session has ended', () => {
    const ended = seal.seal(params(), 'alice')!;
    seal.end(ended);
    expect(seal.open(ended, 'alice')).toBeUndefined();
  });
});

test('capabilities that are nested too deep for JSON are no error', () => {
  const deep = JSON.parse(`{"roots":${'{"a":'.repeat(200_000)}1${'}'.repeat(200_000)}}`) as object;
  expect(seal.seal(params(undefined, deep), undefined)).toBeUndefined();
});

test('two sessions of one client have different ids', () => {
  expect(seal.seal(params(), undefined)).not.toBe(seal.seal(params(), undefined));
});

test('a short key is refused', () => {
  expect(() => new SessionSeal('too short')).toThrow('stateKey must have at least 16 bytes');
});
