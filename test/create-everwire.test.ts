import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { root, startServer } from './support/process.ts';
import { textOf } from './support/reader.ts';

/** From 22.18 on, Node runs TypeScript. Before, `everwire dev` needs tsx. */
const [major, minor] = process.versions.node.split('.').map(Number) as [number, number];
const RUNS_TYPESCRIPT = major > 22 || (major === 22 && minor >= 18);

const source = `${root}packages/create-everwire`;

const manifest = (file: string): any => JSON.parse(readFileSync(file, 'utf8'));

function temporaryFolder(): string {
  return mkdtempSync(path.join(tmpdir(), 'create-everwire-'));
}

/** Runs the command with the files of the repository. */
function create(cwd: string, ...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [`${source}/main.mjs`, ...args], { cwd, encoding: 'utf8' });
}

test('the packages have the same version, and the template the dependencies of this repository', () => {
  const everwire = manifest(`${root}package.json`);
  expect(manifest(`${source}/package.json`).version).toBe(everwire.version);
  const { dependencies, devDependencies } = manifest(`${source}/template/_package.json`);
  expect(everwire.devDependencies).toMatchObject({ zod: dependencies.zod, ...devDependencies });
});

describe('npm create everwire', () => {
  let folder: string;

  beforeAll(() => {
    folder = temporaryFolder();
  });

  afterAll(() => rmSync(folder, { recursive: true }));

  test.each([
    ['notes', 'notes'],
    ['My Notes!', 'my-notes'],
    ['_.notes', 'notes'],
    ['日本', 'mcp-server'],
    ['deep/notes', 'notes'],
    ['everwire', 'everwire-server'],
    ['zod', 'zod-server'],
  ])('in the folder %j, the server is called %j', (target, name) => {
    const { status, stdout, stderr } = create(folder, target);
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toContain(`Created the server ${name}.`);
    const { version } = manifest(`${root}package.json`);
    expect(manifest(path.join(folder, target, 'package.json'))).toMatchObject({
      name,
      dependencies: { everwire: `^${version}` },
    });
    expect(readFileSync(path.join(folder, target, 'src/server.ts'), 'utf8')).toContain(`name: '${name}'`);
  });

  test.skipIf(process.platform === 'win32')('a name is cut to the length that npm accepts', () => {
    expect(create(folder, 'a'.repeat(230)).stdout).toContain(`Created the server ${'a'.repeat(214)}.`);
  });

  test.skipIf(process.platform === 'win32')('names of files cannot control the terminal', () => {
    const full = path.join(folder, 'hostile');
    mkdirSync(full);
    writeFileSync(path.join(full, 'a\u001b[31m\u009b\u202e'), '');
    const { status, stderr } = create(folder, 'hostile');
    expect(status).toBe(1);
    expect(stderr).toContain(String.raw`it has a\u001b[31m\u009b\u202e. Name a new folder`);
  });

  test('the output says what to do next', () => {
    const { stdout } = create(folder, 'with space');
    const loader = RUNS_TYPESCRIPT ? '' : '  npm install --save-dev tsx\n';
    expect(stdout).toContain(`  cd "with space"\n  npm install\n${loader}  npm test\n  npm run dev\n`);
    const empty = path.join(folder, 'here');
    mkdirSync(empty);
    expect(create(empty).stdout).toContain('Created the server here. Next:\n\n  npm install\n');
  });

  test('the files that npm treats specially have their names again', () => {
    create(folder, 'named');
    expect(readdirSync(path.join(folder, 'named')).toSorted()).toEqual(
      [
        '.dockerignore',
        '.gitignore',
        'Dockerfile',
        'README.md',
        'package.json',
        'src',
        'test',
        'tsconfig.json',
      ].toSorted(),
    );
  });

  test('a folder with only a git repository counts as empty', () => {
    mkdirSync(path.join(folder, 'cloned/.git'), { recursive: true });
    expect(create(folder, 'cloned').status).toBe(0);
  });

  test('a folder that is not empty is refused, and stays as it is', () => {
    const full = path.join(folder, 'full');
    mkdirSync(full);
    writeFileSync(path.join(full, 'mine.txt'), '');
    const { status, stderr } = create(full);
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(
        /^create-everwire: .*full is not empty: it has mine\.txt\. Name a new folder: npm create everwire my-server\n$/,
      ),
    ]);
    expect(readdirSync(full)).toEqual(['mine.txt']);
  });

  test.each([
    ['a file', ['file.txt'], /file\.txt is a file, not a folder/],
    ['two folders', ['a', 'b'], /give one folder, not 2/],
    ['an unknown option', ['--typescript'], /Unknown option '--typescript'[\s\S]*Usage: npm create everwire/],
  ])('%s is an error', (_, args, message) => {
    writeFileSync(path.join(folder, 'file.txt'), '');
    const { status, stderr } = create(folder, ...args);
    expect(status).toBe(1);
    expect(stderr).toMatch(message);
  });

  test('--help and --version write nothing', () => {
    const empty = path.join(folder, 'asked');
    mkdirSync(empty);
    expect(create(empty, '--help').stdout).toContain('Usage: npm create everwire [folder]');
    expect(create(empty, '-v').stdout).toBe(`${manifest(`${source}/package.json`).version}\n`);
    expect(readdirSync(empty)).toEqual([]);
  });
});

describe('a project made with the packed packages', () => {
  let folder: string;
  let project: string;

  /** Runs npm in a folder, as a user would: without the settings of the npm that runs this test. */
  function npm(cwd: string, ...args: string[]): string {
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_|^NODE_|^VITEST/i.test(name)));
    return execFileSync('npm', args, { cwd, env, encoding: 'utf8', shell: process.platform === 'win32' });
  }

  function pack(cwd: string): string {
    const [packed] = JSON.parse(npm(cwd, 'pack', '--json', '--ignore-scripts', '--pack-destination', folder)) as [
      { filename: string },
    ];
    return packed.filename;
  }

  beforeAll(() => {
    folder = temporaryFolder();
    const everwire = pack(root);
    const creator = pack(source);
    npm(folder, 'exec', '--yes', '--package', `./${creator}`, '--', 'create-everwire', 'notes');
    project = path.join(folder, 'notes');
    const file = path.join(project, 'package.json');
    const written = manifest(file);
    written.dependencies.everwire = `file:../${everwire}`;
    writeFileSync(file, JSON.stringify(written));
    npm(project, 'install', '--prefer-offline', '--no-audit', '--no-fund');
  }, 300_000);

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  async function connect(transport: Transport): Promise<Client> {
    const client = new Client({ name: 'newcomer', version: '1.0.0' });
    onTestFinished(() => client.close());
    await client.connect(transport);
    return client;
  }

  test('passes its own tests', () => {
    expect(npm(project, 'test')).toMatch(/^(#|ℹ) pass 3$/m);
  });

  test('is built, and answers an official client over HTTP', async () => {
    rmSync(path.join(project, 'dist'), { recursive: true, force: true });
    npm(project, 'run', 'build');
    const server = await startServer([path.join(project, 'dist/src/main.js')], { PORT: '0' });
    onTestFinished(async () => void (await server.stop()));
    const client = await connect(new StreamableHTTPClientTransport(new URL(server.url)));
    const note = { name: 'add_note', arguments: { title: 'Milk', text: '2 litres' } };
    expect(textOf(await client.callTool(note))).toBe('Added Milk.');
    const { contents } = await client.readResource({ uri: 'notes://all' });
    expect(contents).toMatchObject([{ text: 'Milk: 2 litres' }]);
    expect(await client.getPrompt({ name: 'summarize_notes' })).toMatchObject({
      messages: [{ content: { text: expect.stringContaining('a short summary') } }],
    });
  });

  test('is served from its sources while it is written', async () => {
    const { scripts } = manifest(path.join(project, 'package.json'));
    const [command, ...args] = scripts.dev.split(' ') as string[];
    expect(command).toBe('everwire');
    if (!RUNS_TYPESCRIPT) npm(project, 'install', '--save-dev', '--prefer-offline', '--no-audit', '--no-fund', 'tsx');
    const cli = path.join(project, 'node_modules/everwire/dist/lib/cli.js');
    const server = await startServer([
      cli,
      ...args.map((file) => (file.endsWith('.ts') ? path.join(project, file) : file)),
      '--port',
      '0',
    ]);
    onTestFinished(async () => void (await server.stop()));
    const client = await connect(new StreamableHTTPClientTransport(new URL(server.url)));
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['add_note']);
  });

  test('answers an official client over stdio', async () => {
    npm(project, 'run', 'build');
    const args = [path.join(project, 'dist/src/main.js'), '--stdio'];
    const client = await connect(new StdioClientTransport({ command: process.execPath, args }));
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['add_note']);
  });

  test('the health check of its Dockerfile passes while the server runs', async () => {
    npm(project, 'run', 'build');
    const [, check] = /HEALTHCHECK.*\\\n\s*CMD (\[.*\])$/m.exec(
      readFileSync(path.join(project, 'Dockerfile'), 'utf8'),
    )!;
    const [command, ...args] = JSON.parse(check!) as string[];
    const server = await startServer([path.join(project, 'dist/src/main.js')], { PORT: '0' });
    const PORT = new URL(server.url).port;
    const healthy = (): number | null => spawnSync(command!, args, { env: { ...process.env, PORT } }).status;
    expect(healthy()).toBe(0);
    await server.stop();
    expect(healthy()).toBe(1);
  });

  test.skipIf(process.platform === 'win32')('ends on SIGTERM', async () => {
    npm(project, 'run', 'build');
    const server = await startServer([path.join(project, 'dist/src/main.js')], { PORT: '0' });
    expect(await server.stop()).toEqual({ code: 0, signal: null });
  });
});
