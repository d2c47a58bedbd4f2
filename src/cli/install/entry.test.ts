import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../jsonrpc/message.ts';
import { VERSION } from '../../version.ts';
import { HOSTS, type Host } from '../hosts.ts';
import { entryFor, type Wanted } from './entry.ts';

const host = (name: string): Host => HOSTS.find((each) => each.name === name)!;
const nothing = { header: [], env: [], bridge: false, onWindows: false };

function entry(name: string, wanted: Partial<Wanted>): JsonObject {
  return entryFor(host(name), { ...nothing, ...wanted }).entry;
}

const usage = (message: RegExp): unknown =>
  expect.objectContaining({ exitCode: 2, message: expect.stringMatching(message) });

const url = 'https://example.com/mcp';

describe('a server at a URL', () => {
  const header = ['X-Key: a b'];
  const headers = { 'X-Key': 'a b' };

  test.each<[string, JsonObject]>([
    ['claude-code', { type: 'http', url, headers }],
    ['cursor', { url, headers }],
    ['vscode', { type: 'http', url, headers }],
    ['windsurf', { serverUrl: url, headers }],
    ['gemini', { httpUrl: url, headers }],
    ['codex', { url, http_headers: headers }],
    ['zed', { url, headers }],
    ['cline', { type: 'streamableHttp', url, headers }],
  ])('is written for %s in its own form', (name, expected) => {
    expect(entry(name, { url, header })).toEqual(expected);
    expect(entry(name, { url })).not.toHaveProperty('headers');
  });

  test.each([
    ['claude-code', { headers: { Authorization: 'Bearer ${TOKEN}', 'X-B': '${B}' } }],
    ['cursor', { headers: { Authorization: 'Bearer ${env:TOKEN}', 'X-B': '${env:B}' } }],
    ['gemini', { headers: { Authorization: 'Bearer ${TOKEN}', 'X-B': '${B}' } }],
    ['codex', { bearer_token_env_var: 'TOKEN', env_http_headers: { 'X-B': 'B' } }],
  ])('has variables as %s reads them', (name, expected) => {
    expect(entry(name, { url, header: ['Authorization: Bearer ${env:TOKEN}', 'X-B: ${B}'] })).toMatchObject(expected);
  });

  test.each<[string, Partial<Wanted>, RegExp]>([
    ['zed', { header: ['X-B: ${env:B}'] }, /^Zed does not fill in the variable of --header X-B: add --bridge/],
    [
      'codex',
      { header: ['X-B: Token ${env:B}'] },
      /^Codex fills in a variable only as the whole value of --header X-B/,
    ],
    ['cursor', { header: ['X-B: ${env:B:-c}'] }, /^the variable of --header X-B must not have a default$/],
    ['cursor', { header: ['X-B=s3cret'] }, /^--header must be written 'Name: value'/],
    ['cursor', { header: ['X-B: s3\ncret'] }, /^--header X-B contains characters that a header cannot have$/],
    ['cursor', { env: ['A=b'] }, /^--env is for commands, and Cursor connects to this URL itself$/],
  ])('for %s is refused with %o', (name, wanted, message) => {
    expect(() => entry(name, { url, ...wanted })).toThrow(usage(message));
  });
});

describe('a command', () => {
  const command = ['npx', '-y', 'some-server', '/path'];

  test.each<[string, JsonObject]>([
    ['claude', {}],
    ['claude-code', { type: 'stdio' }],
    ['cursor', {}],
    ['vscode', { type: 'stdio' }],
    ['windsurf', {}],
    ['gemini', {}],
    ['codex', {}],
    ['zed', {}],
    ['cline', {}],
  ])('is written for %s in its own form', (name, type) => {
    const args = ['-y', 'some-server', '/path'];
    expect(entry(name, { command, env: ['A=b=c'] })).toEqual({ ...type, command: 'npx', args, env: { A: 'b=c' } });
    expect(entry(name, { command: ['node'] })).toEqual({ ...type, command: 'node', args: [] });
  });

  test('is started through cmd on Windows, if it is a script and the host needs that', () => {
    const args = ['/c', 'npx', '-y', 'some-server', '/path'];
    expect(entry('claude-code', { command, onWindows: true })).toMatchObject({ command: 'cmd', args });
    const script = ['C:\\tools\\serve.CMD'];
    expect(entry('claude-code', { command: script, onWindows: true })).toMatchObject({ args: ['/c', ...script] });
    expect(entry('claude-code', { command: ['node'], onWindows: true })).toMatchObject({ command: 'node' });
    expect(entry('cursor', { command, onWindows: true })).toMatchObject({ command: 'npx' });
  });

  test.each(['https://a.example/mcp?a=1&calc', 'a|b', '>file', 'a^b', '"', '%PATH%'])(
    'that cmd would start is refused if cmd would interpret an argument: %s',
    (word) => {
      const given = { command: ['npx', 'some-server', word] };
      expect(() => entry('claude-code', { ...given, onWindows: true })).toThrow(
        usage(/^Claude Code starts this command with cmd, which would interpret \S+ in an argument: name a program/),
      );
      expect(entry('claude-code', given)).toMatchObject({ args: ['some-server', word] });
      expect(entry('cursor', { ...given, onWindows: true })).toMatchObject({ args: ['some-server', word] });
      const program = { command: ['node', 'server.js', word], onWindows: true };
      expect(entry('claude-code', program)).toMatchObject({ args: ['server.js', word] });
    },
  );

  test('has variables as the host reads them', () => {
    expect(entry('vscode', { command, env: ['A=x${env:B}'] })).toMatchObject({ env: { A: 'x${env:B}' } });
    expect(entry('gemini', { command, env: ['A=x${env:B}'] })).toMatchObject({ env: { A: 'x${B}' } });
    expect(() => entry('claude', { command, env: ['A=${env:B}'] })).toThrow(
      usage(/^Claude Desktop does not fill in the variable of --env A: write its value, as in --env "A=\$B"$/),
    );
  });

  test.each<[Partial<Wanted>, RegExp]>([
    [{ header: ['a: b'] }, /^--header is for servers with a URL/],
    [{ bridge: true }, /^--bridge is for servers with a URL$/],
    [{ env: ['s3cret'] }, /^--env must be written NAME=value$/],
    [{ env: ['A=s3\0cret'] }, /^--env must be written NAME=value$/],
  ])('is refused with %o', (wanted, message) => {
    expect(() => entry('cursor', { command, ...wanted })).toThrow(usage(message));
  });
});

describe('a bridge', () => {
  const bridge = ['-y', `everwire@${VERSION}`, 'bridge', '--stdio'];

  test('is written if the host cannot connect to URLs, or if the user wants it', () => {
    expect(entry('claude', { url })).toEqual({ command: 'npx', args: [...bridge, url] });
    expect(entry('vscode', { url, bridge: true })).toEqual({ type: 'stdio', command: 'npx', args: [...bridge, url] });
  });

  test('has the headers in its environment, and not in its command line', () => {
    expect(entry('claude', { url, header: ['X-Key: s3cret'], env: ['A=b'] })).toEqual({
      command: 'npx',
      args: [...bridge, '--header', 'X-Key: ${env:HEADER_X_KEY}', url],
      env: { A: 'b', HEADER_X_KEY: 's3cret' },
    });
    expect(entry('zed', { url, bridge: true, header: ['X-Key: k ${env:B}'], env: ['B=s3cret'] })).toEqual({
      command: 'npx',
      args: [...bridge, '--header', 'X-Key: k ${env:B}', url],
      env: { B: 's3cret' },
    });
  });

  test.each<[string, RegExp]>([
    ['claude', /^--header X needs --env B=…, because Claude Desktop starts the bridge$/],
    ['cursor', /^--header cannot be used with --bridge for Cursor, which sends headers itself$/],
  ])('for %s is refused with a header that it would not get', (name, message) => {
    expect(() => entry(name, { url, bridge: true, header: ['X: ${env:B}'] })).toThrow(usage(message));
  });
});

test('secrets are not shown', () => {
  const header = ['Authorization: Bearer s3cret', 'X-B: ${env:B}'];
  const env = ['API_KEY=s3', 'LEVEL=3', 'DB=postgres://ada:s3cret-word@db.example/shop'];
  const shown = (name: string, wanted: Partial<Wanted>): string =>
    JSON.stringify(entryFor(host(name), { ...nothing, ...wanted }).shown);
  expect(shown('cursor', { url, header })).toContain('"X-B":"${env:B}"');
  expect(shown('cursor', { command: ['x'], env })).toContain('"LEVEL":"3"');
  for (const text of [
    shown('cursor', { url, header }),
    shown('codex', { url, header }),
    shown('cursor', { command: ['x'], env }),
    shown('claude', { url, header: header.slice(0, 1), env }),
  ]) {
    expect(text).not.toContain('s3');
  }
});
