import { closeSync, openSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Readable } from 'node:stream';
import type { Miniflare } from 'miniflare';
import { getStaticTOMLValue, parseTOML } from 'toml-eslint-parser';
import { describe, onTestFinished } from 'vitest';
import { bundle } from '../../support/bundle.ts';
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
const settings = getStaticTOMLValue(parseTOML(readFileSync(`${root}examples/runtimes/wrangler.toml`, 'utf8'))) as {
  compatibility_date: string;
  compatibility_flags: string[];
};

export interface RunningWorker {
  /** The endpoint of its server. */
  readonly url: string;
  /** What it wrote to its console. */
  readonly logged: readonly string[];
}

/**
 * Bundles a module as wrangler does, from the built package, and runs it in workerd until the test ends.
 *
 * @param bindings what the worker finds in its environment.
 */
export async function runWorker(
  contents: string,
  bindings: Readonly<Record<string, string>> = {},
): Promise<RunningWorker> {
  const { code } = await bundle(contents, ['workerd', 'worker', 'browser']);
  const logged: string[] = [];
  const worker: Miniflare = new miniflare!.Miniflare({
    modules: [{ type: 'ESModule', path: 'worker.js', contents: code }],
    compatibilityDate: settings.compatibility_date,
    compatibilityFlags: settings.compatibility_flags,
    bindings: { ...bindings },
    host: '127.0.0.1',
    port: 0,
    // Otherwise it asks a public address where it is.
    cf: false,
    handleRuntimeStdio: (stdout: Readable, stderr: Readable) => {
      for (const output of [stdout, stderr]) output.on('data', (text: Buffer) => logged.push(text.toString()));
    },
  });
  onTestFinished(() => worker.dispose());
  return { url: new URL('/mcp', await worker.ready).href, logged };
}
