import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { usualFiles } from './mcp-json.ts';
import type { Surroundings } from './surroundings.ts';
import { splitCommand, takeTarget } from './take-target.ts';
import type { Target } from './target.ts';

let directory: string;
let where: Surroundings;

beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'everwire-target-'));
  const cwd = path.join(directory, 'project');
  const home = path.join(directory, 'home');
  for (const each of [cwd, home]) mkdirSync(each);
  where = { cwd, home, env: { TOKEN: 'secret', HERE: '/srv' }, platform: 'linux' };
});

afterEach(() => rmSync(directory, { recursive: true }));

function write(file: string, content: unknown): string {
  const full = path.resolve(where.cwd, file);
  mkdirSync(path.dirname(full), { recursive: true });
  writeFileSync(full, typeof content === 'string' ? content : JSON.stringify(content));
  return full;
}

type Flags = Partial<Parameters<typeof takeTarget>[1]>;

function take(words: string[], flags: Flags = {}): Target {
  return takeTarget(splitCommand(words), { header: [], scope: [], ...flags }, where).target;
}

const usage = (message: RegExp): unknown =>
  expect.objectContaining({ exitCode: 2, message: expect.stringMatching(message) });

describe('the target in a command line', () => {
  test('may be a URL, followed by arguments', () => {
    const taken = takeTarget(splitCommand(['https://example.com/mcp', 'add', 'a=1']), { header: [], scope: [] }, where);
    expect(taken).toEqual({
      target: { kind: 'url', url: 'https://example.com/mcp', headers: {} },
      rest: ['add', 'a=1'],
    });
  });

  test('may be a command after --, with its own options', () => {
    const taken = takeTarget(
      splitCommand(['add', 'a=1', '--', 'node', 'x.js', '--', '--json']),
      { header: [], scope: [] },
      where,
    );
    expect(taken).toEqual({
      target: { kind: 'command', command: 'node', args: ['x.js', '--', '--json'], env: {} },
      rest: ['add', 'a=1'],
    });
  });

  test.each<[string, string[], RegExp]>([
    ['nothing', [], /^a target is missing/],
    ['an empty command after --', ['add', '--'], /^after -- there must be a command/],
    ['a URL with another scheme', ['ftp://example.com'], /must be a URL that begins with http/],
    ['an invalid URL', ['http://'], /must be a URL that begins with http/],
    ['a URL with a password', ['https://me:pass@example.com'], /^the URL of the server must not contain credentials/],
    ['an unknown name', ['nobody'], /^there is no server "nobody" in mcp\.json/],
  ])('%s is refused', (_, words, message) => {
    expect(() => take(words)).toThrow(usage(message));
  });
});

describe('headers', () => {
  const url = 'https://example.com/mcp';

  test('are sent to a server at a URL', () => {
    const header = ['Authorization: Bearer ${env:TOKEN}', 'x-plain: a=b'];
    expect(take([url], { header })).toMatchObject({ headers: { authorization: 'Bearer secret', 'x-plain': 'a=b' } });
    expect(() => take([url], { header: ['x-plain=a'] })).toThrow(usage(/^--header must be written 'Name: value'/));
  });

  test('are not allowed for commands', () => {
    expect(() => take(['--', 'node'], { header: ['a: b'] })).toThrow(usage(/^--header is for servers with a URL/));
  });
});

describe('options for the login', () => {
  const url = 'https://example.com/mcp';

  test('name a client, its secret in a file or a variable, scopes and a port', () => {
    write('secret', 'from a file\n');
    const clientSecret = `@${path.join(where.cwd, 'secret')}`;
    expect(take([url], { clientId: 'me', clientSecret, scope: ['a b', 'c', 'offline_access'] })).toMatchObject({
      oauth: { clientId: 'me', clientSecret: 'from a file', scopes: ['a', 'b', 'c'] },
    });
    expect(take([url], { clientId: 'me', clientSecret: 'env:TOKEN', callbackPort: 8080 })).toMatchObject({
      oauth: { clientId: 'me', clientSecret: 'secret', callbackPort: 8080 },
    });
    expect(take([url])).not.toHaveProperty('oauth');
  });

  test('override those of an mcp.json', () => {
    const oauth = { clientId: 'theirs', clientSecret: 'of theirs', callbackPort: 8080, scopes: 'a' };
    write('mcp.json', { mcpServers: { far: { url, oauth } } });
    expect(take(['far'])).toMatchObject({ oauth: { ...oauth, scopes: ['a'] } });
    expect(take(['far'], { scope: ['b'] })).toMatchObject({ oauth: { ...oauth, scopes: ['b'] } });
    expect(take(['far'], { clientSecret: 'env:TOKEN' })).toMatchObject({ oauth: { clientSecret: 'secret' } });
    // The secret belongs to the other client.
    expect(take(['far'], { clientId: 'mine' })).toMatchObject({
      oauth: { clientId: 'mine', callbackPort: 8080, scopes: ['a'] },
    });
    expect(take(['far'], { clientId: 'mine' })).not.toHaveProperty('oauth.clientSecret');
  });

  test.each<[string, Flags, RegExp]>([
    [
      'a secret that other users can see',
      { clientId: 'me', clientSecret: 'hunter2' },
      /^--client-secret must be @file or env:NAME, because other users of this machine can see command lines$/,
    ],
    ['a variable that is not set', { clientId: 'me', clientSecret: 'env:GONE' }, /environment variable GONE, which is/],
    [
      'a file that does not exist',
      { clientId: 'me', clientSecret: '@gone' },
      /cannot read gone: there is no such file or folder$/,
    ],
    ['a secret without a client', { clientSecret: 'env:TOKEN' }, /^--client-secret needs .* add --client-id$/],
    ['an empty client id', { clientId: '' }, /^--client-id must not be empty$/],
    ['an invalid scope', { scope: ['"'] }, /^--scope has characters that a scope cannot have$/],
    ['credentials of another kind', { clientId: 'me', header: ['Authorization: Bearer x'] }, /there is no login/],
  ])('with %s are refused', (_, flags, message) => {
    expect(() => take([url], flags)).toThrow(usage(message));
  });

  test('are not allowed for commands', () => {
    expect(() => take(['--', 'node'], { callbackPort: 1 })).toThrow(usage(/login is for servers with a URL/));
  });
});

describe('names in mcp.json', () => {
  test('may name a command with all its settings', () => {
    const args = ['${env:HERE}/server.js', '$HOME', '${env:MISSING:-none}'];
    const env = { KEY: '${TOKEN}', LEVEL: 3 };
    write('mcp.json', { mcpServers: { mine: { command: 'node', args, env, cwd: 'sub' } } });
    expect(take(['mine'])).toEqual({
      name: 'mine',
      kind: 'command',
      command: 'node',
      args: ['/srv/server.js', '$HOME', 'none'],
      env: { KEY: 'secret', LEVEL: '3' },
      cwd: path.join(where.cwd, 'sub'),
    });
  });

  test('may name a URL, whose headers the command line can override', () => {
    const headers = { Authorization: 'Bearer old', 'X-Kept': '1' };
    write('mcp.json', { mcpServers: { far: { type: 'http', url: 'https://${env:TOKEN}.example', headers } } });
    expect(take(['far'], { header: ['authorization: Bearer new'] })).toEqual({
      name: 'far',
      kind: 'url',
      url: 'https://secret.example',
      headers: { authorization: 'Bearer new', 'x-kept': '1' },
    });
  });

  test('are searched only in the file given with --config', () => {
    write('mcp.json', { mcpServers: { mine: { command: 'wrong' } } });
    write('other/servers.json', { mcpServers: { mine: { command: 'right' } } });
    expect(take(['mine'], { config: 'other/servers.json' })).toMatchObject({ command: 'right' });
    expect(() => take(['mine'], { config: 'nowhere.json' })).toThrow(
      usage(/nowhere\.json: there is no such file or folder$/),
    );
    write('empty.json', {});
    expect(() => take(['mine'], { config: 'empty.json' })).toThrow(usage(/the file has no "mcpServers"$/));
  });

  test('are searched in the files of hosts, those of the project first', () => {
    const files = usualFiles(where).map(({ file }) => file);
    expect(files[0]).toBe(path.join(where.cwd, 'mcp.json'));
    for (const [index, file] of files.entries()) {
      const key = /Code|\.vscode/.test(file) ? 'servers' : /\.?zed/.test(file) ? 'context_servers' : 'mcpServers';
      write(file, { [key]: { [`only-${index}`]: { command: String(index) }, shared: { command: String(index) } } });
    }
    for (const index of files.keys()) expect(take([`only-${index}`])).toMatchObject({ command: String(index) });
    expect(take(['shared'])).toMatchObject({ command: '0' });
  });

  test('are not searched in an unreadable host file, whose contents are not shown', () => {
    const printed = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    try {
      write('.mcp.json', '{ "token": hunter2 }');
      write('.cursor/mcp.json', { mcpServers: { mine: { command: 'node' } } });
      expect(take(['mine'])).toMatchObject({ command: 'node' });
      expect(printed.mock.calls.map(([text]) => text)).toEqual([
        expect.stringMatching(/^everwire: ignored .*\.mcp\.json: line 1, column 12: this is not valid JSON\n$/),
      ]);
    } finally {
      printed.mockRestore();
    }
    write('secret.json', '{ "token": hunter2 }');
    expect(() => take(['mine'], { config: 'secret.json' })).toThrow(
      usage(/secret\.json: line 1, column 12: this is not valid JSON$/),
    );
  });

  test.each<[unknown, RegExp]>([
    [{}, /mcp\.json: line 1, column 16: mcpServers\.mine has neither a command nor a url$/],
    ['node', /mcpServers\.mine must be an object$/],
    [{ command: 'node', args: 'x' }, /mcpServers\.mine\.args must be a list of strings$/],
    [{ command: 'node', env: [] }, /mcpServers\.mine\.env must be an object of strings$/],
    [{ command: 'node', env: { A: {} } }, /mcpServers\.mine\.env\.A must be a string$/],
    [{ command: 'node', cwd: 1 }, /mcpServers\.mine\.cwd must be a non-empty string$/],
    [{ url: 'file:///etc/passwd' }, /mcpServers\.mine\.url must be a URL that begins with http:\/\/ or https:\/\/$/],
    [{ command: '${env:GONE}' }, /mcpServers\.mine\.command needs the environment variable GONE, which is not set$/],
  ])('cannot name the invalid entry %j', (entry, message) => {
    write('mcp.json', { mcpServers: { mine: entry } });
    expect(() => take(['mine'])).toThrow(usage(message));
  });

  test('are suggested if they are similar', () => {
    write('mcp.json', { mcpServers: { weather: { command: 'node' }, maps: { command: 'node' } } });
    expect(() => take(['wether'])).toThrow(usage(/^there is no server "wether" .*did you mean "weather"/));
    expect(() => take(['calendar'])).toThrow(usage(/there are weather, maps/));
  });
});
