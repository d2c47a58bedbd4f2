import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onLine } from '../support/lines.ts';

const SUITE = '@modelcontextprotocol/conformance@0.2.0-alpha.12';
/** Milliseconds for a complete run, including the download. */
const SUITE_TIMEOUT = 240_000;
/**
 * Milliseconds for one client. Dozens are started at once, and the suite's default of 30 seconds is for faster
 * machines.
 */
const CLIENT_TIMEOUT = 120_000;
/** Milliseconds until the fixture is compiled and listens. */
const START_TIMEOUT = 60_000;
const WINDOWS = process.platform === 'win32';

/** One check of a scenario, with the fields that are needed here. */
export interface Check {
  readonly id: string;
  /** Distinguishes checks with the same id. */
  readonly name: string;
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  readonly errorMessage?: string;
}

export interface Scenario {
  readonly name: string;
  /** Whether the set of scenarios counts it for the score. */
  readonly scored: boolean;
  readonly checks: readonly Check[];
  /** What the client of the scenario said on stderr. Empty for servers. */
  readonly stderr: string;
}

export interface SuiteRun {
  /** 0 if no scored scenario failed, apart from expected failures. */
  readonly exitCode: number | null;
  readonly output: string;
  /** In the order in which they ran. */
  readonly scenarios: readonly Scenario[];
}

/**
 * Runs scenarios of the official suite against a server.
 *
 * @param selection the options of `conformance server` that select them
 * @throws Error if the suite could not run at all, usually because npm cannot reach its registry
 */
export function runServerSuite(url: string, selection: readonly string[]): Promise<SuiteRun> {
  return runSuite(['server', '--url', url, ...selection]);
}

/**
 * Runs scenarios of the official suite against a client, which is started for each of them.
 *
 * @param command words without spaces. The URL of a server is added.
 * @param selection the options of `conformance client` that select them
 * @throws Error like `runServerSuite`
 */
export function runClientSuite(command: string, selection: readonly string[]): Promise<SuiteRun> {
  return runSuite(['client', '--command', command, '--timeout', `${CLIENT_TIMEOUT}`, ...selection]);
}

async function runSuite(options: readonly string[]): Promise<SuiteRun> {
  const results = mkdtempSync(path.join(tmpdir(), 'everwire-conformance-'));
  try {
    // The suite needs Node 22. npm has Node itself as a package, whose `node` is found before the one in use.
    const node = Number.parseInt(process.versions.node, 10) < 22 ? ['-p', 'node@24'] : [];
    const command = ['-y', '--prefer-offline', ...node, '-p', SUITE, 'conformance', ...options, '-o', results];
    const { exitCode, output } = await run('npx', command, SUITE_TIMEOUT);
    const scenarios = readScenarios(results, unscored(output));
    if (scenarios.length === 0) {
      throw new Error(
        `The conformance suite (${SUITE}) did not run: npx ended with ${exitCode}. It needs the npm registry or npm's cache.\n${output}`,
      );
    }
    return { exitCode, output, scenarios };
  } finally {
    rmSync(results, { recursive: true, force: true });
  }
}

/** Starts the fixture server on a free port, with its npm script. */
export async function startFixture(): Promise<{ url: string; stop(): Promise<void> }> {
  const child = start('npm', ['run', '-s', 'fixture:server', '--', '--port', '0']);
  const lines: string[] = [];
  const url = await new Promise<string | undefined>((resolve) => {
    const timer = setTimeout(resolve, START_TIMEOUT, undefined);
    child.once('error', (error) => lines.push(error.message));
    child.once('close', () => {
      clearTimeout(timer);
      resolve(undefined);
    });
    // The compiler prints errors on stdout.
    onLine(child.stdout!, (line) => lines.push(line));
    onLine(child.stderr!, (line) => {
      lines.push(line);
      const address = /^listening on (http:\S+)$/.exec(line)?.[1];
      if (address === undefined) return;
      clearTimeout(timer);
      resolve(address);
    });
  });
  if (url === undefined) {
    await stop(child);
    throw new Error(`The fixture server did not start:\n${lines.join('\n')}`);
  }
  return { url, stop: () => stop(child) };
}

/** The scenarios that the suite names, each with a reason, after the scores of a set of requirements. */
function unscored(output: string): Set<string> {
  const [, list = ''] = output.split(/^Not scored for .*$/m);
  return new Set([...list.matchAll(/^ {2}[✓✗] (\S+) \([^)]+\)$/gm)].map((match) => match[1]!));
}

function readScenarios(results: string, outside: ReadonlySet<string>): Scenario[] {
  return readdirSync(results, { recursive: true, encoding: 'utf8' })
    .filter((file) => path.basename(file) === 'checks.json')
    .map((file) => {
      // Names contain slashes.
      const folder = path.dirname(file).replaceAll(path.sep, '/');
      const [, name, time] = /^(?:server-)?(.+)-(\d{4}-\d\d-\d\dT[\d-]+Z)$/.exec(folder) ?? [];
      if (name === undefined || time === undefined)
        throw new Error(`The suite left a folder of an unknown form: ${folder}`);
      const checks = JSON.parse(readFileSync(path.join(results, file), 'utf8')) as Check[];
      const said = path.join(results, path.dirname(file), 'stderr.txt');
      const stderr = existsSync(said) ? readFileSync(said, 'utf8') : '';
      return { name, scored: !outside.has(name), time, checks, stderr };
    })
    .toSorted((a, b) => (a.time < b.time ? -1 : 1));
}

async function run(
  command: string,
  args: readonly string[],
  timeout: number,
): Promise<{ exitCode: number | null; output: string }> {
  const child = start(command, args);
  let output = '';
  for (const stream of [child.stdout!, child.stderr!])
    stream.setEncoding('utf8').on('data', (text) => (output += text));
  const timer = setTimeout(() => {
    output += `\nstill running after ${timeout} ms: ended\n`;
    end(child, 'SIGKILL');
  }, timeout);
  const exitCode = await new Promise<number | null>((resolve) => {
    child.once('error', (error) => {
      output += error.message;
      resolve(null);
    });
    child.once('close', resolve);
  });
  clearTimeout(timer);
  return { exitCode, output };
}

function start(command: string, args: readonly string[]): ChildProcess {
  // npm and npx start other processes. On POSIX they share a process group, which can be ended as one.
  return spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: !WINDOWS, shell: WINDOWS });
}

/** Ends a process and all its descendants. Resolves when the last of them has closed its output. */
function stop(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.pid === undefined || child.stderr!.closed) return resolve();
    const timer = setTimeout(end, 5000, child, 'SIGKILL');
    child.once('close', () => {
      clearTimeout(timer);
      resolve();
    });
    end(child, 'SIGTERM');
  });
}

function end(child: ChildProcess, signal: NodeJS.Signals): void {
  if (WINDOWS) child.kill(signal);
  else {
    try {
      process.kill(-child.pid!, signal);
    } catch (error) {
      // All of them have already exited.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}
