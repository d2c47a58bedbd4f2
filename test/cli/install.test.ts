import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { temporaryFolder, type Outcome } from '../support/command-line.ts';
import { programs } from '../support/process.ts';

let home: string;
let project: string;

beforeEach(() => {
  const folder = temporaryFolder();
  home = path.join(folder, 'home');
  project = path.join(folder, 'project');
  for (const each of [home, project]) mkdirSync(each);
});

/** Runs the command line in the project, without a terminal. */
function run(...args: string[]): Outcome {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...programs.everwire, ...args], {
    cwd: project,
    env: { PATH: process.env['PATH'], HOME: home, USERPROFILE: home, APPDATA: path.join(home, 'appdata') },
    encoding: 'utf8',
  });
  return { code: status, stdout, stderr };
}

function write(file: string, text: string): string {
  const full = path.join(home, file);
  mkdirSync(path.dirname(full), { recursive: true });
  writeFileSync(full, text);
  return full;
}

const cursor = '{\r\n\t// mine\r\n\t"mcpServers": {\r\n\t\t"old": { "command": "x" },\r\n\t},\r\n}\r\n';
const url = 'https://example.com/mcp';

describe('install', () => {
  test('shows the difference, and changes only that', () => {
    const file = write('.cursor/mcp.json', `\ufeff${cursor}`);
    expect(run('install', 'cursor', url, '--name', 'example', '--yes')).toEqual({
      code: 0,
      stderr: '',
      stdout: [
        `--- ${file}`,
        `+++ ${file}`,
        '@@ -2,5 +2,8 @@',
        ' \t// mine',
        ' \t"mcpServers": {',
        ' \t\t"old": { "command": "x" },',
        '+\t\t"example": {',
        `+\t\t\t"url": "${url}"`,
        '+\t\t},',
        ' \t},',
        ' }',
        `Added "example" in Cursor: ${file}`,
        '',
      ].join('\n'),
    });
    expect(readFileSync(file, 'utf8')).toBe(
      `\ufeff${cursor.replace('"x" },\r\n', `"x" },\r\n\t\t"example": {\r\n\t\t\t"url": "${url}"\r\n\t\t},\r\n`)}`,
    );
    expect(run('list', 'nobody').stderr).toContain('there are old, example');
  });

  test('changes nothing with --dry-run, and nothing that is there already', () => {
    const file = write('.cursor/mcp.json', cursor);
    expect(run('install', 'cursor', url, '--dry-run')).toMatchObject({ code: 0, stderr: '' });
    expect(readFileSync(file, 'utf8')).toBe(cursor);
    const once = run('install', 'cursor', '--yes', '--name', 'new', '--', 'node', 'x.js');
    expect(once.stdout).toContain('+\t\t"new": {');
    expect(run('install', 'cursor', '--yes', '--name', 'new', '--', 'node', 'x.js').stdout).toBe(
      `Cursor already has this server as "new", in ${file}.\n`,
    );
  });

  test('replaces a server only with --replace', () => {
    const file = write('.cursor/mcp.json', cursor);
    expect(run('install', 'cursor', url, '--name', 'old', '--yes')).toEqual({
      code: 2,
      stdout: '',
      stderr: 'everwire: Cursor already has a server "old": choose another --name, or add --replace\n',
    });
    expect(run('install', 'cursor', url, '--name', 'old', '--yes', '--replace').code).toBe(0);
    expect(readFileSync(file, 'utf8')).toBe(
      cursor.replace('{ "command": "x" }', `{\r\n\t\t\t"url": "${url}"\r\n\t\t}`),
    );
  });

  test('creates the file of a project, or the file of --file', () => {
    const given = run('install', 'vscode', '--project', '--yes', '--env', 'A=b', '--', 'npx', '-y', 'some-server');
    expect(given.stdout).toMatch(/^--- \/dev\/null\n/);
    expect(JSON.parse(readFileSync(path.join(project, '.vscode/mcp.json'), 'utf8'))).toEqual({
      servers: { 'some-server': { type: 'stdio', command: 'npx', args: ['-y', 'some-server'], env: { A: 'b' } } },
    });
    expect(run('install', 'codex', url, '--file', 'sub/config.toml', '--yes').code).toBe(0);
    expect(readFileSync(path.join(project, 'sub/config.toml'), 'utf8')).toBe(
      `[mcp_servers.example-com]\nurl = "${url}"\n`,
    );
    expect(existsSync(path.join(home, '.codex'))).toBe(false);
  });

  test('shows no secrets: neither new ones, nor those of other servers', () => {
    const entry = { url, headers: { 'X-Key': 's3cret-of-another' } };
    const file = write('.cursor/mcp.json', JSON.stringify({ mcpServers: { old: entry } }, undefined, 2));
    const { stdout, stderr } = run('install', 'cursor', url, '--yes', '--name', 'new', '--header', 'X-Key: s3');
    expect(stdout).toContain('+        "X-Key": "[redacted]"');
    const replaced = run('install', 'cursor', url, '--yes', '--name', 'old', '--replace');
    const removed = run('uninstall', 'cursor', 'new', '--yes');
    const started = ['--env', 'API_KEY=s3', '--', 'npx', 'x', '--api-key', 's3'];
    const command = run('install', 'cursor', '--dry-run', '--name', 'third', ...started);
    for (const each of [replaced, removed, command]) expect(each.code).toBe(0);
    const all = [stdout, stderr, replaced.stdout, removed.stdout, command.stdout].join('');
    expect(all).not.toContain('s3"');
    expect(all).not.toContain('s3cret');
    expect(readFileSync(file, 'utf8')).not.toContain('s3');
  });

  test('shows no secrets in the arguments and URLs of other servers', () => {
    const old = {
      command: 'npx',
      args: ['-y', 'x', '--api-key', 's3cret-1', '--token=s3cret-2', `${url}?key=s3cret-3`],
    };
    const servers = { old, remote: { url: `${url}?api_key=s3cret-4` } };
    write('.cursor/mcp.json', JSON.stringify({ mcpServers: servers }, undefined, 2));
    const { stdout } = run('uninstall', 'cursor', 'old', '--dry-run');
    expect(stdout).toContain('-        "-y",\n-        "x",\n-        "--api-key",\n-        "[redacted]",\n');
    expect(stdout).toContain(`     "remote": {\n       "url": "${url}?api_key=[redacted]"`);
    expect(stdout).not.toContain('s3cret');
  });

  test('shows no secrets within the arguments and in the logins of other servers', () => {
    const args = [
      'run',
      '-e',
      'API_TOKEN=s3cret-1',
      '-e',
      'OTHER_TOKEN=${OTHER_TOKEN}',
      '--header=X-Api-Key: s3cret-2',
    ];
    const servers = {
      old: { command: 'docker', args },
      remote: { url, oauth: { clientId: 'app-1', clientSecret: 's3cret-3' } },
    };
    // In one line, an entry is shown as a whole.
    const lines = Object.entries(servers).map(([name, entry]) => `    "${name}": ${JSON.stringify(entry)}`);
    write('.cursor/mcp.json', `{\n  "mcpServers": {\n${lines.join(',\n')}\n  }\n}\n`);
    const { stdout } = run('install', 'cursor', 'https://new.example/mcp', '--dry-run');
    expect(stdout).toContain(
      '"-e","API_TOKEN=[redacted]","-e","OTHER_TOKEN=${OTHER_TOKEN}","--header=X-Api-Key: [redacted]"',
    );
    expect(stdout).toContain('"oauth":{"clientId":"app-1","clientSecret":"[redacted]"}');
    expect(stdout).not.toContain('s3cret');
  });

  test('shows no short secrets, none after a colon without a space, and none of the login in Cursor', () => {
    const args = ['run', '-e', 'API_TOKEN=s3-1', '--env=B_KEY=s3-2', '-e', 'C_KEY=${C}', '--header', 'X-Key:s3-4-long'];
    const servers = {
      old: { command: 'docker', args },
      remote: { url, auth: { CLIENT_ID: 'app-1', CLIENT_SECRET: 's3-5-long' }, oauth: { clientSecret: 's3-6' } },
    };
    const lines = Object.entries(servers).map(([name, entry]) => `    "${name}": ${JSON.stringify(entry)}`);
    write('.cursor/mcp.json', `{\n  "mcpServers": {\n${lines.join(',\n')}\n  }\n}\n`);
    const { stdout } = run('install', 'cursor', 'https://new.example/mcp', '--dry-run');
    expect(stdout).toContain('["run","-e","[redacted]","[redacted]","-e","C_KEY=${C}","--header","X-Key:[redacted]"]');
    expect(stdout).toContain(
      '"auth":{"CLIENT_ID":"app-1","CLIENT_SECRET":"[redacted]"},"oauth":{"clientSecret":"[redacted]"}',
    );
    expect(stdout).not.toContain('s3-');
  });

  test('shows no secrets next to the servers', () => {
    write('.claude.json', '{\n  "primaryApiKey": "s3\\"cret",\n  "theme": "dark",\n  "mcpServers": {}\n}\n');
    expect(run('install', 'claude-code', url, '--dry-run').stdout).toContain(
      '\n   "primaryApiKey": "[redacted]",\n   "theme": "dark",\n-  "mcpServers": {}\n+  "mcpServers": {\n',
    );
    write('.codex/config.toml', '[other]\napi_token = "s3cret"\nb = 1\n');
    expect(run('install', 'codex', url, '--dry-run').stdout).toContain('\n api_token = "[redacted]"\n b = 1\n');
  });

  test('warns about a path that the host would not find', () => {
    writeFileSync(path.join(project, 'server.js'), '');
    const { stderr } = run('install', 'cursor', '--dry-run', '--', 'node', 'server.js');
    expect(stderr).toBe(
      'everwire: server.js is a relative path, and hosts start servers in a folder of their own: ' +
        `use ${path.join(project, 'server.js')}\n`,
    );
    expect(run('install', 'cursor', '--dry-run', '--project', '--', 'node', 'server.js').stderr).toBe('');
  });

  test.each<[string, string[], RegExp]>([
    ['no host', [], /^everwire: a host is missing: claude, claude-code, /],
    ['an unknown host', ['curser', url, '--yes'], /^everwire: there is no host "curser" \(did you mean "cursor"\?\)/],
    ['no server', ['cursor', '--yes'], /^everwire: a server is missing: a URL, or -- and a command/],
    ['a server that is no URL', ['cursor', 'x', '--yes'], /^everwire: the server is a URL, or -- and a command/],
    ['two servers', ['cursor', url, '--yes', '--', 'node'], /^everwire: install takes a host and one server: remove/],
    ['a name that a host refuses', ['cursor', url, '--name', 'a b', '--yes'], /^everwire: --name must be 1 to 64/],
    ['a project', ['windsurf', url, '--project', '--yes'], /^everwire: Windsurf has no file for a project/],
    ['two files', ['cursor', url, '--project', '--file', 'x', '--yes'], /--project.* cannot be used with .*--file/],
    [
      'no terminal to ask',
      ['cursor', url],
      /^everwire: without a terminal, add --yes to change the file, or --dry-run/,
    ],
  ])('with %s is refused', (_, args, message) => {
    const { code, stdout, stderr } = run('install', ...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(message);
  });

  test.each([
    ['.cursor/mcp.json', 'cursor', '{\n  "token": hunter2 }', 'line 2, column 12: this is not valid JSON'],
    ['.codex/config.toml', 'codex', 'a = 1\ntoken = hunter2', 'line 2, column 9: this is not valid TOML'],
  ])('leaves the invalid %s alone', (file, host, text, problem) => {
    const full = write(file, text);
    const message = `everwire: cannot use ${full}: ${problem}\n`;
    expect(run('install', host, url, '--yes')).toEqual({ code: 2, stdout: '', stderr: message });
    expect(run('uninstall', host, 'x', '--yes')).toEqual({ code: 2, stdout: '', stderr: message });
    expect(readFileSync(full, 'utf8')).toBe(text);
  });
});

describe('uninstall', () => {
  test('removes a server, and nothing else', () => {
    const file = write('.cursor/mcp.json', cursor);
    run('install', 'cursor', url, '--name', 'new', '--yes');
    const { code, stdout } = run('uninstall', 'cursor', 'new', '--yes');
    expect(code).toBe(0);
    expect(stdout).toMatch(/-\t\t"new": \{\n.*\n-\t\t\},\n \t\},\n \}\nRemoved "new" from Cursor: /);
    expect(readFileSync(file, 'utf8')).toBe(cursor);
  });

  test('refuses a name that is not there', () => {
    const file = write('.cursor/mcp.json', cursor);
    expect(run('uninstall', 'cursor', 'olds', '--yes')).toEqual({
      code: 2,
      stdout: '',
      stderr: `everwire: Cursor has no server "olds" in ${file} (did you mean "old"?)\n`,
    });
    expect(run('uninstall', 'zed', 'x', '--yes').stderr).toMatch(/^everwire: Zed has no server "x" in /);
    expect(run('uninstall', 'cursor', '--yes').stderr).toBe('everwire: the name of the server is missing\n');
  });
});

describe('install of a bridge with a file', () => {
  const bridge = ['--', 'npx', '-y', 'everwire', 'bridge', '--stdio', '--config'];

  function configure(mcpServers: object): string {
    const file = path.join(project, 'servers.json');
    writeFileSync(file, JSON.stringify({ mcpServers }));
    return file;
  }

  const problems = (...args: string[]): string[] => {
    const { code, stderr } = run('install', 'claude', '--dry-run', ...args);
    expect(code).toBe(0);
    return stderr.split('\n').filter((line) => line !== '');
  };

  test('names the variables that the host lacks', () => {
    const env = { A: '${NEEDED}', B: '${env:NEEDED}', C: '${GIVEN}', D: '${NONE:-x}', E: '${HOME}', F: '${input:key}' };
    const file = configure({
      a: { command: 'npx', args: ['x'], env },
      off: { command: 'x', args: ['${OFF}'], disabled: true },
    });
    expect(problems('--env', 'GIVEN=1', ...bridge, file)).toEqual([
      `everwire: ${file} needs variables that Claude Desktop may not have, even if your shell has them: ` +
        'add --env NEEDED=… --env EVERWIRE_INPUT_KEY=…',
    ]);
    expect(problems('--env', 'NEEDED=1', '--env', 'GIVEN=1', '--env', 'EVERWIRE_INPUT_KEY=1', ...bridge, file)).toEqual(
      [],
    );
  });

  test('names the servers that need the folder of the file', () => {
    mkdirSync(path.join(project, 'node_modules/.bin'), { recursive: true });
    writeFileSync(path.join(project, 'node_modules/.bin/mine'), '');
    writeFileSync(path.join(project, 'server.js'), '');
    const file = configure({
      installed: { command: 'npx', args: ['-y', 'mine'] },
      script: { command: 'node', args: ['./server.js'] },
      right: { command: 'node', args: ['./server.js'], cwd: '.' },
      other: { command: 'npx', args: ['-y', 'other'] },
      absolute: { command: 'node', args: [path.join(project, 'server.js')] },
      remote: { url },
    });
    const expected = ['installed', 'script'].map(
      (name) =>
        `everwire: the server "${name}" in ${file} would start in a folder of Claude Desktop, ` +
        'and its command needs the folder of the file: add "cwd": "." to its entry',
    );
    expect(problems(...bridge, file)).toEqual(expected);
    expect(problems(...bridge.slice(0, -1), `--config=${file}`)).toEqual(expected);
  });

  test('says that the file has a mistake', () => {
    const file = configure({ a: {} });
    expect(problems(...bridge, file)).toEqual([
      `everwire: the bridge cannot use ${file}: line 1, column 16: mcpServers.a has neither a command nor a url`,
    ]);
  });
});
