import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { scripted } from '../support/http-server.ts';
import { eventually, programs, root, startNode, type RunningProcess } from '../support/process.ts';

/** Runs a program on a terminal. Other systems have a `script` with other arguments. */
const SCRIPT = '/usr/bin/script';
const able = process.platform === 'linux' && existsSync(SCRIPT);

const range = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);
const SECRET = 's3cret-of-the-configuration';
/** Dangerous characters for a terminal or its reader: C0, DEL, C1, text directions, separators, zero-width characters. */
const FOOLING = String.fromCharCode(
  ...range(0, 0x1f).filter((code) => code !== 9 && code !== 10),
  ...range(0x7f, 0x9f),
  ...[0x061c, 0x200b, 0x200e, 0x200f, 0x2028, 0x2029, ...range(0x202a, 0x202e), ...range(0x2066, 0x2069), 0xfeff],
  0xd800,
);
const HOSTILE = `odd${FOOLING}\u001b]0;title\u0007\u001b[31m ${SECRET} Bearer ${SECRET}`;
const dangerous = new Set(FOOLING);

/** The dangerous characters in the output, each once. */
function unsafe(shown: string): string[] {
  const found = Array.from(shown.replaceAll('\r\n', '\n')).filter((character) => dangerous.has(character));
  return [...new Set(found)].map((character) => JSON.stringify(character));
}

let directory: string;
const running: RunningProcess[] = [];

beforeAll(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'everwire-odd-'));
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((each) => each.stop()));
});
afterAll(() => rmSync(directory, { recursive: true }));

/** A configuration that starts the hostile server with a secret, which the server sends back. */
function configured(era: string, odd: unknown): string {
  const file = path.join(directory, `${era}.json`);
  const args = [`${root}test/fixtures/odd-texts.mjs`, era, JSON.stringify(odd)];
  if (typeof odd === 'string') args.push(odd.replaceAll('\u0000', ''));
  const environment = { command: process.execPath, args: args.map((arg) => arg.replaceAll('\u0000', '')) };
  writeFileSync(file, JSON.stringify({ mcpServers: { odd: { ...environment, env: { API_KEY: SECRET } } } }));
  return file;
}

/** Runs the command line with its stdout on a terminal and its stderr in a file. */
async function onTerminal(...words: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const file = path.join(directory, 'stderr');
  const command = [process.execPath, ...programs.everwire, ...words].map(
    (word) => `'${word.replaceAll("'", "'\\''")}'`,
  );
  const child = spawn(SCRIPT, ['-qefc', `${command.join(' ')} 2>'${file}'`, '/dev/null'], {
    cwd: root,
    env: { ...process.env, SHELL: '/bin/sh', TERM: 'xterm', XDG_DATA_HOME: directory },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let stdout = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  const code = await new Promise<number | null>((resolve) => void child.once('close', resolve));
  return { code, stdout, stderr: readFileSync(file, 'utf8') };
}

const COMMANDS: readonly [words: readonly string[], code: number][] = [
  [['list', 'odd'], 0],
  [['list', 'odd', '--json'], 0],
  [['call', 'odd', 'plain'], 0],
  [['call', 'odd', 'plain', '--json'], 0],
  [['call', 'odd', 'structured'], 0],
  [['call', 'odd', 'talks'], 0],
  [['call', 'odd', 'fails'], 1],
  [['call', 'odd', 'malformed'], 1],
  [['call', 'odd', 'refuses'], 1],
  [['call', 'odd', 'dies'], 3],
  [['call', 'odd', 'plain', 'nothing=1'], 2],
  [['call', 'odd', 'none'], 2],
  [['read', 'odd', 'odd:x'], 0],
  [['read', 'odd', 'odd:x', '--json'], 0],
  [['prompt', 'odd', 'plain', 'a=1'], 0],
  [['prompt', 'odd', 'none'], 2],
  [['complete', 'odd', 'plain', 'a=1'], 0],
  [['ping', 'odd'], 0],
  [['discover', 'odd'], 0],
  [['discover', 'odd', '--json'], 0],
  [['listen', 'odd', 'odd:x', '--count', '1'], 0],
];

describe.runIf(able).each(['modern', 'legacy'])('a server (%s) cannot control the terminal in', (era) => {
  test.each(COMMANDS.map(([words, code]) => [words.join(' '), words, code] as const))('%s', async (_, words, code) => {
    const ended = await onTerminal(...words, '--config', configured(era, HOSTILE));
    const seen = { unsafe: unsafe(ended.stdout + ended.stderr), secret: ended.stderr.includes(SECRET) };
    expect({ ...seen, code: ended.code }, ended.stderr).toEqual({ unsafe: [], secret: false, code });
  });
});

test.runIf(able).each([
  ['a failed tool', ['call', 'odd', 'fails']],
  ['an error', ['call', 'odd', 'refuses']],
])('a text of several lines cannot look like a line of everwire, in %s', async (_, words) => {
  const { stderr } = await onTerminal(...words, '--config', configured('modern', 'no\neverwire: log in at x'));
  expect(stderr).toMatch(/^ +everwire: log in at x/m);
  expect(stderr).not.toMatch(/^everwire: log in/m);
});

const WORDS = COMMANDS.filter(([words]) => !words.includes('--json'));
const SOME = WORDS.filter(([[command, , name]]) => ['list', 'discover'].includes(command!) || name === 'plain');

describe.runIf(able).each([
  [{ a: 1 }, WORDS],
  [null, SOME],
  [[true], SOME],
])('a server with %j for texts is shown by', (odd, commands) => {
  test.each(commands.map(([words, code]) => [words.join(' '), words, code] as const))('%s', async (_, words, code) => {
    const { code: ended, stdout, stderr } = await onTerminal(...words, '--config', configured('legacy', odd));
    expect(stdout + stderr).not.toMatch(
      /is not a function|is not iterable|Cannot read|object Object|undefined|\n {4}at /,
    );
    expect(ended, stderr).toBe(code);
  });
});

test.each(['text', 'json', 'sarif', 'junit'])(
  'a check writes no secret that a server repeats, as %s',
  async (format) => {
    const words = ['check', 'odd', '--format', format, '--config', configured('legacy', HOSTILE)];
    const command = startNode([...programs.everwire, ...words]);
    running.push(command);
    expect((await command.exited).code).toBe(1);
    const report = command.stdout.join('\n');
    expect(report).toContain('[redacted]');
    expect(report.includes(SECRET)).toBe(false);
  },
);

test.each(['text', 'json'])('a replay writes no secret that a server repeats, as %s', async (format) => {
  const file = path.join(directory, 'before.mcpcap');
  const run = async (...words: string[]): Promise<string> => {
    const command = startNode([...programs.everwire, ...words]);
    running.push(command);
    await command.exited;
    return command.stdout.join('\n');
  };
  await run('call', 'odd', 'plain', '--record', file, '--config', configured('legacy', 'before'));
  const config = configured('legacy', HOSTILE);
  const report = await run('replay', 'odd', file, '--call', '*', '--format', format, '--config', config);
  expect(report).toContain('[redacted]');
  expect(report.includes(SECRET)).toBe(false);
});

describe('an HTTP response cannot control the terminal with', () => {
  // A header can contain neither C0 nor DEL, nor anything above Latin-1.
  const inHeader = `odd${String.fromCharCode(...range(0x80, 0x9f))} ${SECRET}`;
  const answers: Record<string, (response: ServerResponse) => void> = {
    'the body of an error': (response) => void response.writeHead(500).end(HOSTILE),
    'a JSON-RPC error': (response) =>
      void response
        .writeHead(400, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32_000, message: HOSTILE } })),
    'a content type': (response) => void response.writeHead(200, { 'content-type': inHeader }).end(HOSTILE),
    'a body that is not a message': (response) =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end(HOSTILE),
    'a challenge': (response) => {
      const challenge = `Bearer error="invalid_token", error_description="${inHeader}"`;
      response.writeHead(401, { 'www-authenticate': challenge }).end(HOSTILE);
    },
    'required scopes': (response) => {
      const challenge = `Bearer error="insufficient_scope", scope="${inHeader}", error_description="${inHeader}"`;
      response.writeHead(403, { 'www-authenticate': challenge }).end(HOSTILE);
    },
    'a redirect': (response) => void response.writeHead(302, { location: `http://${inHeader}/` }).end(HOSTILE),
  };
  test.each(Object.keys(answers))('%s', async (name) => {
    const { url } = await scripted((_, response) => answers[name]!(response));
    const command = startNode([...programs.everwire, 'ping', url.href, '--header', `x-key: ${SECRET}`]);
    running.push(command);
    const { code } = await command.exited;
    const said = command.stderr.join('\n');
    expect({ unsafe: unsafe(said), secret: said.includes(SECRET) }, said).toEqual({ unsafe: [], secret: false });
    expect(code).toBeGreaterThan(0);
  });
});

describe.each(['plain', 'json'])('with a log in %s format', (format) => {
  test.each([
    ['a bridge over stdio', 'modern', ['--stdio']],
    ['a bridge over HTTP', 'modern', ['--port', '0']],
    ['a bridge over HTTP to a handshake server', 'legacy', ['--port', '0', '--shared']],
  ])('%s cannot log control sequences', async (_, era, options) => {
    const words = ['bridge', '--config', configured(era, HOSTILE), '--log-format', format, '--log-level', 'debug'];
    const bridge = startNode([...programs.everwire, ...words, ...options]);
    running.push(bridge);
    const answers = await asked(bridge, options.includes('--stdio'));
    expect(answers).toHaveLength(CALLS.length);
    // Results are passed on unchanged. Errors contain no secrets of the bridge.
    const failed = answers.filter((answer) => 'error' in answer || JSON.stringify(answer).includes('"isError":true'));
    expect(failed).toHaveLength(3);
    expect(failed.filter((answer) => JSON.stringify(answer).includes(SECRET))).toEqual([]);
    const stderr = JSON.stringify(answers.at(-1)).split('exited with code 3')[1]!;
    expect(stderr.includes('odd')).toBe(options.includes('--stdio'));
    await bridge.stop();
    const said = bridge.stderr.join('\n');
    expect({ unsafe: unsafe(said), secret: said.includes(SECRET) }, said).toEqual({ unsafe: [], secret: false });
    const broken = format === 'json' ? bridge.stderr.filter((line) => typeof JSON.parse(line).msg !== 'string') : [];
    expect(broken).toEqual([]);
  });
});

const CALLS = ['plain', 'structured', 'talks', 'fails', 'malformed', 'refuses', 'dies'].map((name, index) => ({
  jsonrpc: '2.0',
  id: index + 1,
  method: 'tools/call',
  params: {
    name,
    arguments: {},
    _meta: {
      progressToken: `call-${index}`,
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
      'io.modelcontextprotocol/logLevel': 'debug',
    },
  },
}));

/** The responses of a bridge to one call of each tool, in order. */
async function asked(bridge: RunningProcess, stdio: boolean): Promise<object[]> {
  const found: object[] = [];
  if (stdio) {
    for (const call of CALLS) {
      bridge.child.stdin!.write(`${JSON.stringify(call)}\n`);
      const answered = (): boolean => bridge.stdout.some((line) => JSON.parse(line).id === call.id);
      await eventually(answered, `an answer to ${call.params.name}`);
    }
    return bridge.stdout.map((line) => JSON.parse(line)).filter(({ id }) => id !== undefined);
  }
  const [, url] = await bridge.line(/(http:[^"\s]+\/mcp)/, 30_000);
  for (const call of CALLS) {
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': call.params.name,
    };
    const text = await (await fetch(url!, { method: 'POST', headers, body: JSON.stringify(call) })).text();
    const data = text.split('\n').flatMap((line) => /^data: ?(\{.*)$/s.exec(line)?.[1] ?? []);
    const messages = (data.length > 0 ? data : [text]).map((json) => JSON.parse(json) as { id?: unknown });
    found.push(...messages.filter(({ id }) => id === call.id));
  }
  return found;
}
