import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ConfigError, ConfigFile, parseConfig, readConfig, type FleetConfig } from './config.ts';

const env = { TOKEN: 'hunter2', HERE: '/srv' };

function parse(json: unknown, file = '/work/project/mcp.json'): FleetConfig {
  return parseConfig(typeof json === 'string' ? json : JSON.stringify(json), file, { env, home: '/home/me' });
}

/** The problems of a configuration in one line, without their positions. */
function problems(json: unknown): readonly string[] {
  try {
    parse(json);
  } catch (error) {
    if (error instanceof ConfigError)
      return error.problems.map((problem) => problem.replace(/^line 1, column \d+: /, ''));
    throw error;
  }
  return [];
}

/** The problems of one server, in the same way. */
const wrong = (server: unknown): readonly string[] => problems({ mcpServers: { mine: server } });

describe('the configuration files of hosts', () => {
  test('of Claude Desktop, with comments, are read', () => {
    const { servers, separator } = parse(`{
      // what the desktop has
      "mcpServers": {
        "files": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "."], "env": { "LEVEL": 3 } },
      },
      "globalShortcut": ""
    }`);
    expect(servers).toEqual([
      {
        kind: 'command',
        name: 'files',
        command: 'npx',
        args: ['-y', '@modelcontextprotocol/server-filesystem', '.'],
        env: { LEVEL: '3' },
        tools: {},
      },
    ]);
    expect(separator).toBe('__');
  });

  test('with separate variables for each server are read', () => {
    const { servers } = parse(
      JSON.stringify({
        inputs: [{ id: 'their-key', default: 'x' }],
        mcpServers: {
          one: { command: 'x', args: ['${HOME:-a}/${SHARED:-a}'], env: { KEY: '${env:ONE_TOKEN:-a}' } },
          two: { command: 'x', env: { PATH: '${PATH:-a}:/bin', KEY: '${input:their-key}', SHARED: '${SHARED:-a}' } },
          far: { url: 'https://a.example', headers: { Authorization: 'Bearer ${FAR_TOKEN:-a}' } },
          off: { command: 'x', args: ['${OFF_TOKEN}'], disabled: true },
        },
      }),
    );
    expect(servers.map((server) => server.kind === 'command' && server.withheld)).toEqual([
      ['EVERWIRE_INPUT_THEIR_KEY', 'FAR_TOKEN', 'OFF_TOKEN'],
      ['ONE_TOKEN', 'FAR_TOKEN', 'OFF_TOKEN'],
      false,
    ]);
  });

  test('of VS Code, with inputs and the workspace folder, are read', () => {
    const json = {
      inputs: [
        { type: 'promptString', id: 'api-key', description: 'Key of the API', password: true },
        { type: 'promptString', id: 'region', default: 'eu' },
      ],
      servers: {
        api: { type: 'http', url: 'https://${input:region}.example.com/mcp', headers: { 'X-Key': '${input:api-key}' } },
        local: { type: 'stdio', command: 'node', args: ['${workspaceFolder}/server.js'], cwd: '${workspaceFolder}' },
      },
    };
    const given = { ...env, EVERWIRE_INPUT_API_KEY: 'k' };
    const { servers } = parseConfig(JSON.stringify(json), '/work/project/.vscode/mcp.json', { env: given });
    expect(servers).toMatchObject([
      { kind: 'url', url: 'https://eu.example.com/mcp', headers: { 'X-Key': 'k' } },
      { kind: 'command', args: ['/work/project/server.js'], cwd: '/work/project' },
    ]);
    expect(() => parseConfig(JSON.stringify(json), '/work/project/.vscode/mcp.json', { env })).toThrow(
      'servers.api.headers.X-Key needs the input "api-key" (Key of the API): set the environment variable EVERWIRE_INPUT_API_KEY',
    );
  });

  test('of Zed are read, except settings of its extensions', () => {
    const { servers } = parse({
      theme: 'One Dark',
      context_servers: {
        one: { source: 'custom', command: 'node', args: ['server.js'] },
        two: { url: 'https://two.example/mcp' },
        theirs: { source: 'extension', enabled: true, settings: { key: 'x' } },
      },
    });
    expect(servers).toMatchObject([
      { name: 'one', command: 'node' },
      { name: 'two', url: 'https://two.example/mcp' },
    ]);
  });

  test('of Cursor and others, with variables and alternative names for the URL, are read', () => {
    const { servers } = parse({
      mcpServers: {
        one: {
          command: '${userHome}/bin/one',
          args: ['${env:HERE}', '${HERE}', '${NONE:-x}', '${env:NONE:-}', '${other:y}'],
        },
        two: { serverUrl: 'https://two.example/sse', type: 'sse' },
        three: { httpUrl: 'https://three.example/mcp', headers: { Authorization: 'Bearer ${TOKEN}' } },
        four: { url: 'https://four.example/mcp', type: 'streamableHttp', alwaysAllow: ['x'], timeout: 60 },
        five: { url: 'https://five.example/mcp', type: 'remote' },
      },
    });
    expect(servers).toMatchObject([
      { command: '/home/me/bin/one', args: ['/srv', '/srv', 'x', '', '${other:y}'] },
      { url: 'https://two.example/sse', transport: 'sse' },
      { url: 'https://three.example/mcp', transport: 'http', headers: { Authorization: 'Bearer hunter2' } },
      { url: 'https://four.example/mcp', transport: 'http' },
      { url: 'https://five.example/mcp' },
    ]);
    expect(servers[4]).not.toHaveProperty('transport');
  });

  test('with a client for the login are read', () => {
    const oauth = {
      clientId: '${env:HERE}',
      clientSecret: '${TOKEN}',
      callbackPort: 8080,
      scopes: 'a  b offline_access',
    };
    // Settings of other hosts.
    const theirs = {
      ...{ enabled: true, authServerMetadataUrl: 'https://a.example', authorizationUrl: 'https://a.example' },
      ...{ issuer: 'https://a.example', redirectUri: 'x', audiences: ['x'], tokenUrl: 'x', registrationUrl: 'x' },
    };
    const { servers } = parse({
      mcpServers: {
        claude: { type: 'http', url: 'https://one.example', oauth },
        gemini: { httpUrl: 'https://two.example', oauth: { ...theirs, scopes: ['a', 'b'] } },
      },
    });
    expect(servers).toMatchObject([
      { oauth: { clientId: '/srv', clientSecret: 'hunter2', callbackPort: 8080, scopes: ['a', 'b'] } },
      { oauth: { scopes: ['a', 'b'] } },
    ]);
  });

  test.each([
    ['x', 'oauth must be an object'],
    [{ clientID: 'x' }, 'oauth.clientID is not a setting (did you mean "clientId"?)'],
    [{ scope: 'x' }, 'oauth.scope is not a setting (did you mean "scopes"?)'],
    [{ clientId: 1 }, 'oauth.clientId must be a non-empty string'],
    [{ clientSecret: 'x' }, 'oauth has a clientSecret, but no clientId'],
    [{ callbackPort: '8080' }, 'oauth.callbackPort must be a number from 1 to 65535'],
    [{ scopes: [1] }, 'oauth.scopes must be a list of strings'],
    [{ scopes: '' }, 'oauth.scopes must name a scope'],
    [{ scopes: ['"x"'] }, 'oauth.scopes has characters that a scope cannot have'],
  ])('with the login %j are refused', (oauth, problem) => {
    expect(problems({ mcpServers: { a: { url: 'https://a.example', oauth } } })).toEqual([`mcpServers.a.${problem}`]);
  });

  test('with disabled servers are read, whatever else those entries contain', () => {
    const { servers } = parse({
      mcpServers: {
        a: { command: '${GONE}', disabled: true },
        b: { enabled: false },
        c: { command: 'c', disabled: false },
      },
    });
    expect(servers.map(({ name }) => name)).toEqual(['c']);
  });

  test('with variables in an env file are read', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'everwire-config-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    mkdirSync(path.join(folder, '.vscode'));
    writeFileSync(path.join(folder, '.env'), 'KEY=from-file\nLEVEL=1\n');
    const file = path.join(folder, '.vscode/mcp.json');
    const entry = { command: 'node', envFile: '${workspaceFolder}/.env', env: { LEVEL: '2' } };
    writeFileSync(file, JSON.stringify({ servers: { mine: entry, other: { command: 'x', envFile: 'none' } } }));
    expect(ConfigFile.read(file, { env }).server('mine')).toMatchObject({ env: { KEY: 'from-file', LEVEL: '2' } });
    expect(() => readConfig(file, { env })).toThrow(
      new RegExp(
        `^${file}: line 1, column \\d+: servers.other.envFile cannot be read: there is no such file or folder$`,
      ),
    );
  });
});

describe('Everwire’s own settings', () => {
  test('for names and for tools are read', () => {
    const tools = { hide: ['delete_*'], only: ['a', 'b'], rename: { a: 'add' }, describe: { b: 'Better.' } };
    const { servers, separator } = parse({
      mcpServers: { mine: { command: 'x', tools }, other: { command: 'x', tools: ['*'] } },
      everwire: { separator: '.' },
    });
    expect(separator).toBe('.');
    expect(servers.map((server) => server.tools)).toEqual([tools, { only: ['*'] }]);
  });

  test.each([
    [{ separater: '-' }, 'everwire.separater is not a setting (did you mean "separator"?)'],
    [{ names: 'always' }, 'everwire.names is not a setting; the settings are separator'],
    [{ separator: 'x' }, 'everwire.separator must be 1 to 4 of the characters _ - .'],
    [[], 'everwire must be an object'],
  ])('%j is refused', (everwire, problem) => {
    expect(problems({ mcpServers: {}, everwire })).toEqual([problem]);
  });

  test('that rename tools of two servers to the same name are refused', () => {
    const renaming = (tool: string): object => ({ command: 'x', tools: { rename: { [tool]: 'find' } } });
    expect(problems({ mcpServers: { one: renaming('a'), other: renaming('b') } })).toEqual([
      'mcpServers cannot be used together: the new name of the tool "b" of "other" is also the new name of a tool of "one"',
    ]);
  });

  test.each([
    [{ hidden: ['a'] }, 'mcpServers.mine.tools.hidden is not a setting (did you mean "hide"?)'],
    [{ hide: 'a' }, 'mcpServers.mine.tools.hide must be a list of strings'],
    [{ rename: { a: 'no spaces' } }, 'mcpServers.mine.tools.rename.a must be 1 to 64 letters, digits and _ - .'],
    [{ rename: { a: 'x', b: 'x' } }, 'mcpServers.mine.tools.rename.b is already the new name of "a"'],
    [{ describe: { 'a b': 1 } }, 'mcpServers.mine.tools.describe["a b"] must be a string'],
    ['all', 'mcpServers.mine.tools must be an object'],
  ])('for tools are refused if they are %j', (tools, problem) => {
    expect(wrong({ command: 'x', tools })).toEqual([problem]);
  });
});

describe('a configuration is refused', () => {
  test.each<[unknown, string]>([
    [{ comand: 'node' }, 'mcpServers.mine has neither a command nor a url (is "comand" mistyped?)'],
    [{ args: [] }, 'mcpServers.mine has neither a command nor a url'],
    [{ command: 'x', url: 'https://a.example' }, 'mcpServers.mine has both a command and a url; remove one'],
    [{ command: 'x', type: 'sse' }, 'mcpServers.mine.type is "sse", but there is a command'],
    [{ url: 'https://a.example', type: 'stdio' }, 'mcpServers.mine.type is "stdio", but there is a url'],
    [
      { command: 'x', type: 'htp' },
      'mcpServers.mine.type must be "stdio" or "http" or "streamable-http" or "sse" (did you mean "http"?)',
    ],
    [{ command: 'x', args: ['a', 1] }, 'mcpServers.mine.args must be a list of strings'],
    [
      { command: 'x', args: ['a', '${GONE}'] },
      'mcpServers.mine.args[1] needs the environment variable GONE, which is not set',
    ],
    [
      { command: 'x', args: ['${command:pick}'] },
      'mcpServers.mine.args[0] needs ${command:…}, which only an editor can fill in',
    ],
    [
      { url: 'https://me:hunter2@a.example' },
      'mcpServers.mine.url must not contain credentials; send them in a header',
    ],
    [
      { url: 'https://a.example', headers: { 'a b': 'x' } },
      'mcpServers.mine.headers["a b"] is not a valid name of a header',
    ],
    [
      { url: 'https://a.example', headers: { a: 'hunter2\n' } },
      'mcpServers.mine.headers.a contains characters that a header cannot have',
    ],
  ])('with the entry %j', (server, problem) => {
    expect(wrong(server)).toEqual([problem]);
    expect(problem).not.toContain('hunter2');
  });

  test.each(['', '..', 'a\nb', 'x'.repeat(101)])('with a server named %j', (name) => {
    expect(problems({ mcpServers: { [name]: { command: 'x' } } })).toEqual([
      expect.stringContaining('cannot name a server'),
    ]);
  });

  test('with a list of at most 10 problems, and the name of the file', () => {
    const json = { mcpServers: Object.fromEntries(Array.from({ length: 13 }, (_, index) => [`s${index}`, {}])) };
    expect(() => parse(json, 'some/mcp.json')).toThrow(
      /^some\/mcp\.json: line 1, column 16: mcpServers\.s0 has .*: mcpServers\.s9 has .*; and 3 more$/,
    );
    expect(problems({ servers: [] })).toEqual(['the file has no object "mcpServers"']);
    expect(problems('{')).toEqual(['this is not valid JSON']);
  });

  test('with the line and the column of each problem', () => {
    const text = `{
  // the servers
  "servers": {
    "one": { "comand": "node" },
    "two": {
      "command": "x",
      "args": [
        "a", "\${GONE}",
      ],
    },
    "three": { "url": "https://a.example", "headers": { "X-A": [] } },
  },
  "everwire": { "separator": "x" },
}`;
    expect(() => parse(text, 'mcp.json')).toThrow(
      expect.objectContaining({
        problems: [
          'line 4, column 5: servers.one has neither a command nor a url (is "comand" mistyped?)',
          'line 8, column 14: servers.two.args[1] needs the environment variable GONE, which is not set',
          'line 11, column 57: servers.three.headers.X-A must be a string',
          'line 13, column 17: everwire.separator must be 1 to 4 of the characters _ - .',
        ],
      }),
    );
  });

  test('never because of settings of other hosts', () => {
    const { servers } = parse({ mcpServers: { mine: { command: 'x', autoApprove: [], gallery: true } } });
    expect(servers).toMatchObject([{ name: 'mine', command: 'x' }]);
  });
});

test('a server may be shared, or not, whatever the bridge does with the others', () => {
  const url = 'https://a.example/mcp';
  const { servers } = parse({
    mcpServers: { a: { command: 'x', shared: true }, b: { url, shared: false }, c: { url } },
  });
  expect(servers.map(({ shared }) => shared)).toEqual([true, false, undefined]);
  expect(wrong({ command: 'x', shared: 'yes' })).toEqual(['mcpServers.mine.shared must be true or false']);
});

describe('what is probably a mistake is a warning', () => {
  const warnings = (server: object): readonly string[] =>
    parse({ mcpServers: { mine: server } }).warnings!.map((warning) => warning.replace(/^line 1, column \d+: /, ''));

  test.each([
    [{ command: 'x', arg: ['a'] }, 'arg', 'args'],
    [{ command: 'x', disable: true }, 'disable', 'disabled'],
    [{ command: 'x', Env: {} }, 'Env', 'env'],
    [{ url: 'https://a.example/mcp', header: {} }, 'header', 'headers'],
    [{ url: 'https://a.example/mcp', oAuth: {} }, 'oAuth', 'oauth'],
  ])('%j', (server, key, meant) => {
    expect(warnings(server)).toEqual([`mcpServers.mine.${key} is ignored (did you mean "${meant}"?)`]);
  });

  test('a variable that does not end', () => {
    const what = 'has a variable that begins with "${" and has no "}": it is not filled in';
    expect(warnings({ command: 'x', env: { A: '${TOKEN', B: '${TOKEN}' } })).toEqual([`mcpServers.mine.env.A ${what}`]);
    expect(warnings({ url: 'https://a.example', headers: { Authorization: 'Bearer ${TOKEN' } })).toEqual([
      `mcpServers.mine.headers.Authorization ${what}`,
    ]);
  });

  test('but not the settings that only hosts know', () => {
    const keys =
      'timeout trust description name title alwaysAllow autoApprove includeTools excludeTools gallery version dev ' +
      'sandboxEnabled source settings transport transportType disabledTools authProviderType icon note auth';
    const settings = Object.fromEntries(keys.split(' ').map((key) => [key, 1]));
    expect(warnings({ command: 'x', ...settings })).toEqual([]);
  });

  test('in the entry of one server', () => {
    const text = '{"mcpServers":{"a":{"command":"x","arg":[]},"b":{"command":"x"}}}';
    const file = new ConfigFile(text, 'mcp.json', { env });
    file.server('a');
    expect(file.warnings).toEqual(['line 1, column 35: mcpServers.a.arg is ignored (did you mean "args"?)']);
    file.server('b');
    expect(file.warnings).toEqual([]);
  });
});

test('many problems in one object are found in linear time', () => {
  const headers = Object.fromEntries(Array.from({ length: 60_000 }, (_, i) => [`X-${i}`, `\${EVERWIRE_MISSING_${i}}`]));
  const text = JSON.stringify({ mcpServers: { a: { url: 'https://a.example/mcp', headers } } });
  const before = process.cpuUsage();
  expect(() => new ConfigFile(text, 'mcp.json', { env: {} }).server('a')).toThrow(/and 59990 more/);
  expect(process.cpuUsage(before).user).toBeLessThan(30_000_000);
});
