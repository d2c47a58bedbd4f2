import { readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { rolldown } from 'rolldown';
import { writeChanged } from './write-changed.ts';

/**
 * Bundles the entry points of package.json and the command line into `dist/lib`, with code that several of them share
 * in chunks. Node takes about 0.5 ms for each file of an import, so the many small files of `src` would take most of
 * the time of a short process.
 *
 * The bundles keep names and comments, so a debugger shows readable code without source maps. Maps with their sources
 * would more than double the size of the package.
 */

const LIB = 'dist/lib';
/** What almost every entry point loads. Not every one needs `node:buffer`, which the parser imports. */
const CORE =
  /^src\/((base|jsonrpc|protocol|core)\/(?!(parse|batch|create-file|make-folder|regular-file)\.)|schema\/(complaint|work)\.|transport\/(wiretap|http\/not-executed)\.)/;

const { exports } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  exports: Record<string, string | { readonly types: string; readonly default: string }>;
};
const input: Record<string, string> = {
  cli: './src/cli/main.ts',
  // A thread begins with a file.
  'capture-worker': './src/inspect/worker/capture-worker.ts',
  // So does a process.
  'dev-child': './src/cli/dev/child.ts',
};
for (const target of Object.values(exports)) {
  if (typeof target === 'string') continue;
  const source = target.types.replace('./dist/', './').replace(/\.d\.ts$/, '.ts');
  input[path.basename(target.default, '.js')] = source;
}

const bundle = await rolldown({
  input,
  platform: 'node',
  external: (id) => !id.startsWith('.') && !path.isAbsolute(id),
  transform: { target: 'es2023' },
});
const { output } = await bundle.generate({
  dir: LIB,
  chunkFileNames: 'chunks/[name].js',
  codeSplitting: { groups: [{ name: 'core', test: (id) => CORE.test(path.relative('.', id).replaceAll('\\', '/')) }] },
});
await bundle.close();

const kept = new Set(output.map(({ fileName }) => path.normalize(fileName)));
for (const file of output) writeChanged(path.join(LIB, file.fileName), file.type === 'chunk' ? file.code : file.source);
for (const file of readdirSync(LIB, { recursive: true, encoding: 'utf8' })) {
  if (/\.js(\.map)?$/.test(file) && !kept.has(file)) rmSync(path.join(LIB, file));
}
