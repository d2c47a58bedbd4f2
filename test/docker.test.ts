import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { DockerfileParser, type Dockerfile } from 'dockerfile-ast';
import { validate, ValidationSeverity } from 'dockerfile-utils';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { connect } from '../src/client/index.ts';
import { McpServer } from '../src/server/index.ts';
import { bearer, client, startBridge } from './support/bridge-program.ts';
import { runEverwire, startEverwire, temporaryFolder } from './support/command-line.ts';
import { programs, root, startNode } from './support/process.ts';

/** There is no Docker here. So these tests run what a container would run. */

const FILES = ['Dockerfile', 'examples/docker/bridge.Dockerfile', 'examples/docker/server.Dockerfile'];
const TOKEN = 'a-token-0123456789';
const page = readFileSync(`${root}docs/guides/docker.md`, 'utf8');

const contentOf = (file: string): string => readFileSync(root + file, 'utf8');

function lastStage(file: string): Dockerfile {
  return DockerfileParser.parse(contentOf(file));
}

/** The words of an instruction of the last stage, in exec form. */
function wordsOf(file: string, keyword: string): string[] {
  const found = lastStage(file)
    .getInstructions()
    .findLast((instruction) => instruction.getKeyword() === keyword);
  const [words] = /\[[\s\S]*\]$/.exec(found?.getArgumentsContent() ?? '') ?? [];
  if (words === undefined) throw new Error(`${file} has no ${keyword} in exec form`);
  return JSON.parse(words) as string[];
}

describe.each(FILES)('%s', (file) => {
  test('has no mistakes', () => {
    const problems = validate(contentOf(file), { instructionWorkdirRelative: ValidationSeverity.IGNORE });
    expect(problems.map(({ message, range }) => [range.start.line + 1, message])).toEqual([]);
  });

  test('does not run as root', () => {
    const users = lastStage(file)
      .getInstructions()
      .filter((instruction) => instruction.getKeyword() === 'USER');
    expect(users.at(-1)?.getArgumentsContent()).toBe('node');
  });
});

/** Runs a health check, and returns its exit code. */
async function health([command, ...words]: string[], env: NodeJS.ProcessEnv): Promise<number> {
  expect(command).toBe('node');
  const check = spawn(process.execPath, words, { env: { ...process.env, ...env }, stdio: 'inherit' });
  const [code] = (await once(check, 'close')) as [number];
  return code;
}

describe('the image', () => {
  test('starts the command through an init process', () => {
    expect(wordsOf('Dockerfile', 'ENTRYPOINT')).toEqual(['tini', '--', 'everwire']);
    expect(wordsOf('Dockerfile', 'CMD')).toEqual(['--help']);
  });

  test('is healthy while the bridge serves', async () => {
    const bridge = await startBridge(['--', process.execPath, ...programs.everwire, 'demo', '--stdio']);
    const check = wordsOf('Dockerfile', 'HEALTHCHECK');
    const HEALTH_URL = new URL('/healthz', bridge.url).href;
    expect(await health(check, { HEALTH_URL })).toBe(0);
    await bridge.stop();
    expect(await health(check, { HEALTH_URL })).toBe(1);
  });

  test('is built from everything that the build needs', () => {
    const { scripts } = JSON.parse(contentOf('package.json')) as { scripts: { prepack: string } };
    expect(scripts.prepack).toContain('build');
    for (const needed of ['src', 'scripts', 'page', 'examples', 'package.json', 'tsconfig.build.json']) {
      expect(existsSync(root + needed)).toBe(true);
      expect(contentOf('.dockerignore').split('\n')).not.toContain(needed);
    }
  });
});

/** The arguments of `everwire` in each command of the page that begins with these words. */
function commandsWith(start: string): string[][] {
  return [...page.matchAll(/^docker run .*? everwire (.*)$/gm)]
    .map(([, words]) => words!.split(' '))
    .filter((words) => words.join(' ').startsWith(start));
}

/** A configuration file with the demo server. */
function configuration(): string {
  const file = path.join(temporaryFolder(), 'mcp.json');
  const demo = { command: process.execPath, args: [...programs.everwire, 'demo', '--stdio'] };
  writeFileSync(file, JSON.stringify({ mcpServers: { demo } }));
  return file;
}

/** Starts a bridge with the arguments of the docs, at a port that is free. */
function startShown(words: readonly string[], replaced: Record<string, string> = {}) {
  expect(words[0]).toBe('bridge');
  return startBridge(
    words.slice(1).map((word) => replaced[word] ?? word),
    { TOKEN },
  );
}

describe('docs/guides/docker.md', () => {
  test('shows the files of the examples', () => {
    const shown = [...page.matchAll(/<!-- file: (\S+) -->\n\n```\w+\n([\s\S]*?)```/g)];
    expect(shown.map(([, file]) => file)).toEqual([
      'examples/docker/bridge.Dockerfile',
      'examples/docker/compose.yaml',
      'examples/docker/tsconfig.json',
      'examples/docker/server.ts',
      'examples/docker/server.Dockerfile',
    ]);
    for (const [, file, content] of shown) expect(content).toBe(contentOf(file!));
  });

  test('shows a bridge to a command', async () => {
    const [words] = commandsWith('bridge --host 0.0.0.0 --bearer env:TOKEN -- ');
    const bridge = await startShown(words!);
    const local = new URL(bridge.url);
    local.hostname = '127.0.0.1';
    expect((await fetch(local, { method: 'POST' })).status).toBe(401);
    const caller = await client(local.href, bearer(TOKEN));
    expect((await caller.listTools()).map(({ name }) => name)).toContain('echo');
  });

  test('shows a bridge with a configuration', async () => {
    const [words] = commandsWith('bridge --host 0.0.0.0 --bearer env:TOKEN --config');
    const bridge = await startShown(words!, { '/etc/everwire/mcp.json': configuration() });
    const local = new URL(bridge.url);
    local.hostname = '127.0.0.1';
    const caller = await client(local.href, bearer(TOKEN));
    expect((await caller.listTools()).map(({ name }) => name)).toEqual(['add']);
  });

  test('shows commands that exist', async () => {
    for (const words of [...commandsWith('login'), ...commandsWith('--help')]) {
      const { code } = await runEverwire([words[0]!, '--help']);
      expect(code).toBe(0);
    }
  });

  test('shows a bridge in Compose, which stops in time', async () => {
    const { services } = parse(contentOf('examples/docker/compose.yaml')) as {
      services: { bridge: { command: string; stop_grace_period: string } };
    };
    const { command, stop_grace_period: grace } = services.bridge;
    const tokens = path.join(temporaryFolder(), 'tokens');
    writeFileSync(tokens, `${TOKEN}\n`);
    const words = command.split(' ');
    const bridge = await startShown(words, {
      '/etc/everwire/mcp.json': configuration(),
      '@/run/secrets/tokens': `@${tokens}`,
    });
    const metrics = new URL('/metrics', bridge.url);
    metrics.hostname = '127.0.0.1';
    expect((await fetch(metrics)).status).toBe(401);
    expect((await fetch(metrics, { headers: { authorization: `Bearer ${TOKEN}` } })).status).toBe(200);
    bridge.child.kill('SIGTERM');
    expect(await bridge.exited).toEqual({ code: 0, signal: null });
    const drain = Number(words[words.indexOf('--drain-timeout') + 1]);
    expect(Number.parseInt(grace, 10)).toBeGreaterThanOrEqual(drain + 10);
  });

  test('shows a host that starts a container', async () => {
    const server = new McpServer({ name: 'remote', version: '1.0.0' });
    server.tool('hello', {}, () => 'Hello!');
    const { url } = await server.listen({ port: 0 });
    onTestFinished(() => server.close(0));
    const { mcpServers } = JSON.parse(/^```json\n([\s\S]*?)^```/m.exec(page)![1]!) as {
      mcpServers: { remote: { command: string; args: string[] } };
    };
    const { command, args } = mcpServers.remote;
    expect([command, ...args.slice(0, 2)]).toEqual(['docker', 'run', '-i']);
    const words = args.slice(args.indexOf('everwire') + 1).map((word) => (word.startsWith('https:') ? url : word));
    const host = await connect({ command: process.execPath, args: [...programs.everwire, ...words] });
    onTestFinished(() => host.close());
    expect((await host.callTool('hello')).content).toEqual([{ type: 'text', text: 'Hello!' }]);
  });

  test('shows how to build a server of your own', () => {
    const project = temporaryFolder();
    mkdirSync(path.join(project, 'src'));
    mkdirSync(path.join(project, 'node_modules'));
    for (const [name, target] of Object.entries({ everwire: '.', '@types': 'node_modules/@types' }))
      symlinkSync(path.resolve(root, target), path.join(project, 'node_modules', name), 'junction');
    writeFileSync(path.join(project, 'package.json'), '{ "type": "module" }');
    copyFileSync(`${root}examples/docker/tsconfig.json`, path.join(project, 'tsconfig.json'));
    copyFileSync(`${root}examples/docker/server.ts`, path.join(project, 'src/server.ts'));
    const compiler = path.join(root, 'node_modules/typescript/bin/tsc');
    const { stdout } = spawnSync(process.execPath, [compiler], { cwd: project, encoding: 'utf8' });
    expect(stdout).toBe('');
    // The Dockerfile starts this file.
    expect(existsSync(path.join(project, wordsOf('examples/docker/server.Dockerfile', 'CMD')[1]!))).toBe(true);
  });

  test('shows a server of your own, which is healthy and stops', async () => {
    const key = path.join(temporaryFolder(), 'api-key');
    writeFileSync(key, `${TOKEN}\n`);
    const server = startNode([`${root}dist/examples/docker/server.js`], { API_KEY_FILE: key, PORT: '0' });
    onTestFinished(async () => void (await server.stop()));
    const [, port] = await server.line(/listening on http:.*:(\d+)/);
    const check = wordsOf('examples/docker/server.Dockerfile', 'HEALTHCHECK');
    expect(check.join(' ')).toContain(':8000/');
    const here = check.map((word) => word.replace(':8000/', `:${port}/`));
    expect(await health(here, {})).toBe(0);
    const caller = await client(`http://127.0.0.1:${port}/mcp`, bearer(TOKEN));
    expect(await caller.callTool('opening_hours')).toHaveProperty('content.0.type', 'text');
    await caller.close();
    server.child.kill('SIGTERM');
    expect(await server.exited).toEqual({ code: 0, signal: null });
  });
});

test('a bridge ends when the host closes its stdin, as a container without a terminal needs', async () => {
  const bridge = startEverwire(['bridge', '--stdio', '--', process.execPath, ...programs.everwire, 'demo', '--stdio']);
  bridge.child.stdin!.end();
  expect(await bridge.exited).toEqual({ code: 0, signal: null });
});
