import { closeSync, openSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Readable } from 'node:stream';
import type { Miniflare } from 'miniflare';
import { getStaticTOMLValue, parseTOML } from 'toml-eslint-parser';
import { describe, onTestFinished } from 'vitest';
import { bundle, type Bundle } from '../../support/bundle.ts';
import { root } from '../../support/process.ts';

/** The package fails to load where there is no `workerd`. */
const miniflare = await import('miniflare').catch(() => undefined);
if (!miniflare) report();

/** @throws Error in CI, where these tests must run. */
function report(): void {
  const advice = 'the npm package "workerd" has no program for this platform';
  if (process.env['CI'] === 'true') throw new Error(`There is no workerd for the tests: ${advice}.`);
  try {
    // Only the first test file of a run prints it.
    closeSync(openSync(path.join(process.env['XDG_DATA_HOME']!, 'no-workerd'), 'wx'));
    process.stderr.write(`Tests in workerd are skipped: ${advice}.\n`);
  } catch {
    // It was printed.
  }
}

/** Tests in the runtime of Cloudflare Workers. They are skipped where there is none. */
export function describeInWorkerd(name: string, tests: () => void): void {
  describe.skipIf(!miniflare)(name, () => {
    tests();
  });
}

/** What docs/runtimes.md tells users to set. */
interface Settings {
  readonly compatibility_date: string;
  readonly compatibility_flags: string[];
  readonly durable_objects?: { readonly bindings: readonly { readonly name: string; readonly class_name: string }[] };
  readonly migrations?: readonly { readonly new_sqlite_classes: readonly string[] }[];
}

/** @param folder below `examples/runtimes` */
function settingsIn(folder: string): Settings {
  const toml = readFileSync(`${root}examples/runtimes/${folder}wrangler.toml`, 'utf8');
  return getStaticTOMLValue(parseTOML(toml)) as unknown as Settings;
}

/** A worker that is started again needs no other bundle. */
const bundles = new Map<string, Promise<Bundle>>();

function bundled(contents: string): Promise<Bundle> {
  let made = bundles.get(contents);
  if (!made) bundles.set(contents, (made = bundle(contents, ['workerd', 'worker', 'browser'])));
  return made;
}

export interface RunningWorker {
  /** The endpoint of its server. */
  readonly url: string;
  /** What it wrote to its console. */
  readonly logged: readonly string[];
  /** Ends its process. */
  stop(): Promise<void>;
}

export interface WorkerOptions {
  /** What the worker finds in its environment. */
  readonly bindings?: Readonly<Record<string, string>>;
  /** Whether the worker has the Durable Object of docs/runtimes.md. If its data outlives the worker: the folder for it. */
  readonly objects?: boolean | string;
}

/** Bundles a module as wrangler does, from the built package, and runs it in workerd until the test ends. */
export async function runWorker(contents: string, options: WorkerOptions = {}): Promise<RunningWorker> {
  const worker = await startWorker(contents, options);
  onTestFinished(worker.stop);
  return worker;
}

/** Like `runWorker`, until `stop` is called. */
export async function startWorker(contents: string, options: WorkerOptions = {}): Promise<RunningWorker> {
  const { bindings = {}, objects = false } = options;
  const settings = settingsIn(objects === false ? '' : 'durable/');
  const { code } = await bundled(contents);
  const logged: string[] = [];
  const sqlite = new Set(settings.migrations?.flatMap((migration) => migration.new_sqlite_classes));
  const classes = settings.durable_objects?.bindings.map(
    ({ name, class_name: className }) => [name, { className, useSQLite: sqlite.has(className) }] as const,
  );
  const worker: Miniflare = new miniflare!.Miniflare({
    modules: [{ type: 'ESModule', path: 'worker.js', contents: code }],
    compatibilityDate: settings.compatibility_date,
    compatibilityFlags: settings.compatibility_flags,
    bindings: { ...bindings },
    durableObjects: Object.fromEntries(classes ?? []),
    durableObjectsPersist: typeof objects === 'string' ? objects : false,
    host: '127.0.0.1',
    port: 0,
    // Otherwise it asks a public address where it is.
    cf: false,
    handleRuntimeStdio: (stdout: Readable, stderr: Readable) => {
      for (const output of [stdout, stderr]) output.on('data', (text: Buffer) => logged.push(text.toString()));
    },
  });
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopping ??= worker.dispose());
  return { url: new URL('/mcp', await worker.ready).href, logged, stop };
}
