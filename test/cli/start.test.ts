import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { root, startProgram, type RunningProcess } from '../support/process.ts';

/** Where the servers of the pages listen. */
const ORIGIN = 'http://127.0.0.1:8000';

interface Shown {
  readonly kind: 'save';
  readonly file: string;
  readonly text: string;
}

interface Command {
  readonly kind: 'run';
  readonly line: string;
  readonly output: string;
}

/** One thing that a reader does. */
type Step = Shown | { readonly kind: 'install'; readonly lines: readonly string[] } | Command;

/** What a page tells its reader to do, in order. */
function stepsOf(page: string): Step[] {
  const text = readFileSync(`${root}docs/start/${page}`, 'utf8');
  const blocks = /(?:^<!-- file: (\S+) -->\n\n)?^```(\w+)\n([\s\S]*?)^```$/gm;
  return [...text.matchAll(blocks)].flatMap(([, file, language, body]): Step[] => {
    if (file !== undefined) return [{ kind: 'save', file, text: body! }];
    if (language === 'sh') return [{ kind: 'install', lines: body!.trimEnd().split('\n') }];
    if (language !== 'console') throw new Error(`${page}: nothing says what to do with a block of ${language}`);
    return body!
      .split(/^\$ /m)
      .slice(1)
      .map((example): Command => {
        const end = example.indexOf('\n');
        return { kind: 'run', line: example.slice(0, end), output: example.slice(end + 1) };
      });
  });
}

/** Saves a file that the page shows. */
function save(folder: string, { file, text }: Shown): void {
  expect(text).toBe(readFileSync(root + file, 'utf8'));
  writeFileSync(path.join(folder, path.basename(file)), text);
}

/** `npm install` would download the packages. Here they are linked. */
function install(folder: string, lines: readonly string[]): void {
  expect(lines).toEqual([
    expect.stringMatching(/^mkdir (\w+) && cd \1$/),
    'npm init -y',
    expect.stringMatching(/^npm install everwire/),
  ]);
  writeFileSync(path.join(folder, 'package.json'), '{ "name": "reader", "version": "1.0.0" }');
  const modules = path.join(folder, 'node_modules');
  mkdirSync(path.join(modules, '.bin'), { recursive: true });
  for (const name of lines[2]!.split(' ').slice(2)) {
    const source = name === 'everwire' ? root : `${root}node_modules/${name}`;
    mkdirSync(path.dirname(path.join(modules, name)), { recursive: true });
    symlinkSync(source, path.join(modules, name));
    const { bin = {} } = JSON.parse(readFileSync(path.join(source, 'package.json'), 'utf8')) as { bin?: object };
    for (const [command, target] of Object.entries(bin)) {
      symlinkSync(path.join(source, target as string), path.join(modules, '.bin', command));
    }
  }
}

/** Runs a command to its end. */
function run(folder: string, { line, output }: Command): void {
  const { status, stdout, stderr } = spawnSync('sh', ['-c', line], { cwd: folder, encoding: 'utf8', timeout: 60_000 });
  // What a command starts may write to stderr too.
  expect(status === 0 ? stdout : stdout + stderr, stderr).toBe(output);
}

/** Starts a server in the first terminal. It listens on a free port instead of 8000. */
async function serve(folder: string, { line, output }: Command): Promise<RunningProcess & { origin: string }> {
  const command = line.replace(/everwire (demo|bridge)/, '$& --port 0');
  const server = startProgram('sh', ['-c', command], { PORT: '0' }, folder);
  const [shown] = output.split('\n');
  const [before, after] = shown!.split(ORIGIN);
  const [, origin] = await server.line(new RegExp(`^${before}(http://127.0.0.1:\\d+)${after}$`), 60_000);
  return { ...server, origin: origin! };
}

/** Presses Ctrl+C in the terminal of a server. */
async function interrupt({ pid, exited }: RunningProcess): Promise<void> {
  process.kill(-pid, 'SIGINT');
  await exited;
}

describe.skipIf(process.platform === 'win32').each(['server.md', 'client.md', 'bridge.md'])('docs/start/%s', (page) => {
  test('works from an empty folder to the last command', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'everwire-start-'));
    let server: (RunningProcess & { origin: string }) | undefined;
    onTestFinished(async () => {
      if (server !== undefined) await interrupt(server);
      rmSync(folder, { recursive: true });
    });
    let commands = 0;
    for (const step of stepsOf(page)) {
      if (step.kind === 'save') save(folder, step);
      else if (step.kind === 'install') install(folder, step.lines);
      else if (step.output.includes(`listening on ${ORIGIN}`)) {
        if (server !== undefined) await interrupt(server);
        server = await serve(folder, step);
      } else {
        run(folder, { ...step, line: step.line.replace(ORIGIN, server?.origin ?? ORIGIN) });
        commands += 1;
      }
    }
    expect(commands).toBeGreaterThan(1);
  });
});
