import { spawn, spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { builtBy, goProgram, javaProgram, prepare, pythonProgram, toolchains } from '../test/languages/toolchains.ts';
import { runtimes } from '../test/runtimes/runtime.ts';
import { onLine } from '../test/support/lines.ts';
import { programs, root } from '../test/support/process.ts';
import { stop, track, type HttpPeer } from './processes.ts';

/** Servers that start on a core of their own, by their names. */
export type OneCorePeers = Readonly<Record<string, () => Promise<HttpPeer>>>;

/** The core of the servers. */
const CORE = 1;
/** The core of the load. */
const LOAD_CORE = 0;
/** The milliseconds that a server may take until it listens. */
const START_TIMEOUT = 60_000;

const source = (file: string): string => path.join(root, 'test/languages', file);
const ours = (command: readonly string[]) => () => onCore([...command, ...programs.features, '--port', '0']);
const onNode = { 'everwire, Node': ours([process.execPath]) };

/** The feature server in each language, as the tests build it, but optimized. */
export async function languagePeers(): Promise<OneCorePeers> {
  for (const toolchain of toolchains) {
    const why = prepare(toolchain, (line) => process.stderr.write(`${line}\n`));
    if (why !== undefined) throw new Error(why);
  }
  const to = builtBy('Rust');
  const build = ['build', '--quiet', '--locked', '--release', '--manifest-path', source('rust/Cargo.toml')];
  const { status } = spawnSync('cargo', [...build, '--target-dir', to], { stdio: 'inherit' });
  if (status !== 0) throw new Error(`cargo build failed with ${status}`);
  const java = javaProgram('Server').filter((word) => !word.startsWith('-XX:'));
  return {
    ...onNode,
    'Go SDK': () => onCore([goProgram('server'), '--http']),
    'Rust rmcp': () => onCore([path.join(to, 'release', 'server'), '--http']),
    'Java SDK': () => onCore([...java, '--http']),
    'Python mcp': () => onCore([pythonProgram('python'), source('python/server.py'), '--http']),
  };
}

/** Our feature server on each runtime. */
export async function runtimePeers(): Promise<OneCorePeers> {
  const others = runtimes.map(({ name, command }) => {
    if (command === undefined) throw new Error(`${name} is not here`);
    return [`everwire, ${name}`, ours(command)] as const;
  });
  return { ...onNode, ...Object.fromEntries(others) };
}

/** The same servers, each behind our bridge on the same core. The process of a peer is that of the bridge. */
export function bridgedPeers(peers: OneCorePeers): OneCorePeers {
  return Object.fromEntries(
    Object.entries(peers).map(([name, start]) => [
      name,
      async () => {
        const server = await start();
        const bridge = await onCore([process.execPath, ...programs.everwire, 'bridge', '--port', '0', server.url.href]);
        bridge.process.once('exit', () => void stop(server.process));
        return bridge;
      },
    ]),
  );
}

/** Keeps this process off the core of the servers. Returns what undoes it. */
export function keepOffTheirCore(): () => void {
  if (availableParallelism() < 2) throw new Error('needs two processors: one for the load and one for the servers');
  const move = (cores: string): void => {
    const { status, error } = spawnSync('taskset', ['-a', '-c', '-p', cores, String(process.pid)]);
    if (status !== 0) throw new Error('needs taskset of Linux', { cause: error });
  };
  const all = `0-${availableParallelism() - 1}`;
  move(String(LOAD_CORE));
  return () => move(all);
}

/** Starts a server on the core, and waits until it says on stderr where it listens. */
async function onCore(command: readonly string[]): Promise<HttpPeer> {
  const child = track(spawn('taskset', ['-c', String(CORE), ...command], { stdio: ['ignore', 'ignore', 'pipe'] }));
  let says = '';
  const url = await new Promise<string>((resolve, reject) => {
    const fail = (why: string): void => reject(new Error(`${command.join(' ')} ${why}: ${says}`));
    const timer = setTimeout(() => fail(`did not listen within ${START_TIMEOUT} ms`), START_TIMEOUT);
    child.once('error', reject);
    child.once('exit', (code) => fail(`exited with ${code}`));
    onLine(child.stderr, (line) => {
      says = `${says}\n${line}`.slice(-4000);
      const listening = /listening on (http:\S+)$/.exec(line)?.[1];
      if (listening === undefined) return;
      clearTimeout(timer);
      resolve(listening);
    });
  });
  return { url: new URL(url), process: child };
}
