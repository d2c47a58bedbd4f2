import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { programs, root, startNode } from '../support/process.ts';
import { PageClient } from '../support/inspector.ts';
import { startLoginServer, type LoginServer } from './login-server.ts';

/** Runs a program on a terminal. Other systems have a `script` with other arguments. */
const SCRIPT = '/usr/bin/script';
const able = process.platform === 'linux' && existsSync(SCRIPT);

let directory: string;

beforeAll(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'everwire-terminal-'));
});

afterAll(() => rmSync(directory, { recursive: true }));

const ends: (() => void)[] = [];

afterEach(() => {
  for (const end of ends.splice(0)) end();
});

interface OnTerminal {
  /** Resolves with the match when the terminal shows this text after the previous match. */
  shows(pattern: RegExp): Promise<RegExpExecArray>;
  type(text: string): void;
  readonly exited: Promise<number | null>;
}

/** Runs the command line on a terminal, without a browser. */
function onTerminal(args: readonly string[], env: NodeJS.ProcessEnv = {}): OnTerminal {
  const words = [process.execPath, ...programs.everwire, ...args].map((word) => `'${word.replaceAll("'", "'\\''")}'`);
  const child = spawn(SCRIPT, ['-qefc', words.join(' '), '/dev/null'], {
    cwd: root,
    env: { ...process.env, PATH: directory, SHELL: '/bin/sh', TERM: 'xterm', XDG_DATA_HOME: directory, ...env },
  });
  ends.push(() => child.kill('SIGKILL'));
  let shown = '';
  let read = 0;
  const exited = new Promise<number | null>((resolve) => {
    child.once('close', resolve);
  });
  child.stdout.on('data', (chunk: Buffer) => {
    shown += chunk.toString();
  });
  return {
    exited,
    type: (text) => void child.stdin.write(text),
    shows: async (pattern) => {
      await expect.poll(() => shown.slice(read), { timeout: 15_000 }).toMatch(pattern);
      const match = pattern.exec(shown.slice(read))!;
      read += match.index + match[0].length;
      return match;
    },
  };
}

const features = ['--', process.execPath, ...programs.features, '--stdio'];

describe.runIf(able)('on a terminal', () => {
  test('a form is filled in one field after another', async () => {
    const terminal = onTerminal(['call', 'ask', ...features]);
    await terminal.shows(/feature-server asks: Who are you\?/);
    await terminal.shows(/Name \(text\): /);
    terminal.type('Ada\r');
    await terminal.shows(/Send this\? \[Y\/n, e to edit\] /);
    terminal.type('\r');
    await terminal.shows(/\{"action":"accept","content":\{"name":"Ada"\}\}/);
    expect(await terminal.exited).toBe(0);
  });

  test("a host's file is changed only if the user agrees", async () => {
    const file = path.join(directory, 'hosts', 'mcp.json');
    const args = ['install', 'cursor', 'https://example.com/mcp', '--file', file];
    const refused = onTerminal(args, { NO_COLOR: '' });
    await refused.shows(/\[32m\+ {4}"example-com": \{.\[39m/);
    await refused.shows(/Write this\? \[Y\/n\] /);
    refused.type('n\r');
    await refused.shows(/everwire: nothing was changed/);
    expect(await refused.exited).toBe(1);
    expect(existsSync(file)).toBe(false);
    const agreed = onTerminal(args, { NO_COLOR: '1' });
    await agreed.shows(/\r\n\+ {4}"example-com": \{\r\n/);
    await agreed.shows(/Write this\? \[Y\/n\] /);
    agreed.type('\r');
    await agreed.shows(/Added "example-com" in Cursor: /);
    expect(await agreed.exited).toBe(0);
    expect(existsSync(file)).toBe(true);
  });

  test('Ctrl-C at the question changes nothing', async () => {
    const file = path.join(directory, 'interrupted.json');
    const terminal = onTerminal(['install', 'cursor', 'https://example.com/mcp', '--file', file]);
    await terminal.shows(/Write this\? \[Y\/n\] /);
    terminal.type('\u0003');
    expect(await terminal.exited).toBe(130);
    expect(existsSync(file)).toBe(false);
  });

  test('Ctrl-D dismisses a question', async () => {
    const terminal = onTerminal(['call', 'ask', ...features]);
    await terminal.shows(/Name \(text\): /);
    terminal.type('\u0004');
    await terminal.shows(/\{"action":"cancel"\}/);
    expect(await terminal.exited).toBe(0);
  });

  test('Ctrl-C during a question ends the command', async () => {
    const terminal = onTerminal(['call', 'ask', ...features]);
    await terminal.shows(/Name \(text\): /);
    terminal.type('\u0003');
    expect(await terminal.exited).toBe(130);
  });

  test('a URL is shown in full before it is opened', async () => {
    const terminal = onTerminal(['call', 'visit', ...features]);
    await terminal.shows(/https:\/\/example\.com\/sign-in/);
    await terminal.shows(/Open it in the browser\? \[y\/N\] /);
    terminal.type('n\r');
    await terminal.shows(/\{"action":"decline"\}/);
    expect(await terminal.exited).toBe(0);
  });

  test('the user answers a sampling request', async () => {
    const terminal = onTerminal(['call', 'sample', 'prompt=What is it?', ...features]);
    await terminal.shows(/user: What is it\?/);
    terminal.type('y\r');
    await terminal.shows(/Write the answer/);
    terminal.type('A test.\r.\r');
    await terminal.shows(/"text":"A test\."/);
    expect(await terminal.exited).toBe(0);
  });

  test('a call that becomes a task is awaited, and its questions are asked', async () => {
    const code = `import(${JSON.stringify(`${root}dist/examples/tasks.js`)}).then(({ server }) => server.stdio())`;
    const terminal = onTerminal(['call', 'print', 'title=Momo', 'pages=2', '--', process.execPath, '-e', code]);
    await terminal.shows(/Which colour is the cover\?/);
    await terminal.shows(/colour \(text\): /);
    terminal.type('red\r\r');
    await terminal.shows(/Printed, in red\./);
    expect(await terminal.exited).toBe(0);
  });

  test('progress is shown as a bar, which disappears at the end', async () => {
    const terminal = onTerminal(['call', 'count', 'to=5', ...features]);
    await terminal.shows(/\[█+░*\] +\d+ % {2}\d\/5 {2}step \d/);
    await terminal.shows(/\[2Kcounted to 5\r?\n/);
    expect(await terminal.exited).toBe(0);
  });
});

describe('a server that requires a login', () => {
  let server: LoginServer;

  beforeAll(async () => {
    server = await startLoginServer();
  });

  afterAll(() => server.close());

  async function withoutTerminal(...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
    const child = startNode([...programs.everwire, ...args], { XDG_DATA_HOME: directory });
    const { code } = await child.exited;
    return { code, stdout: child.stdout.join('\n'), stderr: child.stderr.join('\n') };
  }

  test('gets no login if there is no user', async () => {
    const { code, stdout, stderr } = await withoutTerminal('call', server.url, 'add', 'a=1', 'b=2');
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' });
    expect(stderr).toMatch(
      /127\.0\.0\.1:\d+ requires a login: run "everwire login http:\S+", or add --header with a token/,
    );
    const forbidden = await withoutTerminal('ping', server.url, '--no-login');
    expect(forbidden).toMatchObject({ code: 4, stderr: expect.stringMatching(/without --no-login/) });
    expect(server.issued()).toBe(0);
  });

  test.runIf(able)('gets its login from a browser on another machine, whose last address the user pastes', async () => {
    const terminal = onTerminal(['list', server.url, 'tools'], { XDG_DATA_HOME: path.join(directory, 'pasted') });
    const [, address] = await terminal.shows(/asks you to log in:\s+(http:\S+)\r\n/);
    expect(new URL(address!).searchParams.get('redirect_uri')).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/);
    await terminal.shows(
      /No browser could be opened: open the URL yourself\..*paste the address of that page here\..*> /s,
    );
    const away = await fetch(address!, { redirect: 'manual' });
    const end = new URL(away.headers.get('location')!);
    const other = new URL(end);
    other.searchParams.set('state', 'of-another-login');
    for (const wrong of ['https://example.com/', other.href]) {
      terminal.type(`${wrong}\r`);
      await terminal.shows(/This is not the address that this login ends at\. It begins with http:\S+callback\?.*> /s);
    }
    expect(server.issued()).toBe(0);
    terminal.type(`${end.href}\r`);
    await terminal.shows(/Add two numbers/);
    expect(await terminal.exited).toBe(0);
    expect(server.issued()).toBe(1);
    server.forget();
  });

  test.runIf(able)('gets one login through the browser', async () => {
    const terminal = onTerminal(['call', server.url, 'add', 'a=1', 'b=2']);
    const [, address] = await terminal.shows(/asks you to log in:\s+(http:\S+)/);
    await terminal.shows(/open the URL yourself/);
    const page = await fetch(address!);
    expect(page.status).toBe(200);
    await terminal.shows(/3/);
    expect(await terminal.exited).toBe(0);
    expect(server.issued()).toBe(1);

    const again = await withoutTerminal('call', server.url, 'add', 'a=2', 'b=2');
    expect(again).toEqual({ code: 0, stdout: '4', stderr: '' });
    expect(server.issued()).toBe(1);
    const folder = path.join(directory, 'everwire', 'tokens');
    const files = readdirSync(folder).filter((name) => name.endsWith('.json'));
    expect(files).toHaveLength(1);
    expect(statSync(path.join(folder, files[0]!)).mode & 0o777).toBe(0o600);
  });
});

test.runIf(able)('Enter prints another address of the inspector, and Ctrl-C ends it', async () => {
  const { shows, type, exited } = onTerminal(['inspect', '--port', '0', '--no-open']);
  const address = /inspector on (http:\S+)/;
  const [, first] = await shows(address);
  type('\r');
  const [, second] = await shows(address);
  expect(new URL(second!).origin).toBe(new URL(first!).origin);
  await expect(PageClient.open(first!)).rejects.toThrow('This URL was already used');
  expect(await (await PageClient.open(second!)).until(() => true)).toMatchObject({ role: 'client' });
  type('\u0003');
  await exited;
});
