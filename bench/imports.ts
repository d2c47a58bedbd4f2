import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { median } from './sample.ts';

const run = promisify(execFile);
const script = fileURLToPath(new URL('import-time.js', import.meta.url));

/**
 * The milliseconds that each module takes to import in a fresh process: the median of several runs. The modules take
 * turns.
 */
export async function importTimes(modules: readonly string[], rounds = 11): Promise<number[]> {
  const times = modules.map((): number[] => []);
  for (let round = 0; round < rounds; round++) {
    for (const [index, module] of modules.entries()) {
      const { stdout } = await run(process.execPath, [script, module]);
      times[index]!.push(Number(stdout));
    }
  }
  return times.map(median);
}

/** The bytes of a module when bundled, minified and gzipped, without its dynamic imports. */
export async function bundledSize(module: string): Promise<number> {
  const result = await build({
    stdin: { contents: `export * from ${JSON.stringify(module)};`, resolveDir: process.cwd(), sourcefile: 'entry.js' },
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    platform: 'node',
    outdir: 'bundle',
    write: false,
    metafile: true,
    logLevel: 'error',
  });
  const outputs = new Map(Object.entries(result.metafile.outputs));
  const contents = new Map(result.outputFiles.map((file) => [file.path, file.contents]));
  const entry = [...outputs].find(([, { entryPoint }]) => entryPoint === 'entry.js' || entryPoint === '<stdin>');
  if (!entry) throw new Error(`esbuild made no bundle of ${module}`);
  const needed = new Set([entry[0]]);
  let bytes = 0;
  // The loop also visits entries that are added while it runs.
  for (const path of needed) {
    for (const { path: imported, kind, external } of outputs.get(path)!.imports) {
      if (kind !== 'dynamic-import' && !external) needed.add(imported);
    }
    const absolute = [...contents.keys()].find((name) => name.replaceAll('\\', '/').endsWith(`/${path}`));
    bytes += gzipSync(contents.get(absolute!)!).length;
  }
  return bytes;
}
