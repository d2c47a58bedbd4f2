import { readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { rolldown, type OutputOptions } from 'rolldown';
import { replaceFiles, withEnding } from './replace-files.ts';
import { writeChanged } from './write-changed.ts';

/**
 * Bundles the entry points of package.json and the command line into `dist/lib`, with code that several of them share
 * in chunks. Node takes about 0.5 ms for each file of an import, so the many small files of `src` would take most of
 * the time of a short process.
 *
 * In workers, which have no sockets and processes, `x.web.ts` replaces `x.ts`: both are files of their own, and the
 * `imports` of package.json choose. Entry points for browsers have a bundle of their own in `dist/browser`, where also
 * `x.browser.ts` replaces `x.ts`.
 *
 * The bundles keep names and comments, so a debugger shows readable code without source maps. Maps with their sources
 * would more than double the size of the package.
 */

/** What almost every entry point loads. Not every one needs `node:buffer`, which the parser imports. */
const CORE =
  /^src\/((base|jsonrpc|protocol|core)\/(?!(built|parse|skim|batch|utf8|utf8-stream|create-file|file-stream|make-folder|regular-file|replace-file|stored-share|text-file)\.)|schema\/(complaint|work)\.|transport\/http\/not-executed\.|version\.)/;

/** What servers and clients load only with a transport. */
const TRANSPORTS =
  /^src\/(base\/(all-in-turns|buffer-budget|define|eviction|file-in-use|newest|parsed-at-once|principal|quota|read-turns|receive-budget|recent|repeatedly|send-budget|share-line|share-room|time-limit|until-done)|jsonrpc\/(bounds|json-in|shape|texts)|protocol\/(apps|own-revision)|core\/unavailable|transport\/(plain-write|wiretap))\./;

const { exports } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  exports: Record<string, string | { readonly types: string; readonly default: string; readonly browser?: string }>;
};
const targets = Object.values(exports).filter((target) => typeof target !== 'string');
/** The files that are others in workers, without `.ts`. */
const replaced = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.web.ts'))
  .map((file) => file.replaceAll('\\', '/').replace(/\.web\.ts$/, ''));

await write(
  'dist/lib',
  {
    cli: './src/cli/main.ts',
    // A thread begins with a file.
    'capture-worker': './src/inspect/worker/capture-worker.ts',
    // So does a process.
    'dev-child': './src/cli/dev/child.ts',
    'store-check': './src/store/embedded/check-file.ts',
    ...Object.fromEntries(targets.map(({ types, default: file }) => entry(types, file))),
    ...Object.fromEntries(
      replaced.flatMap((name) =>
        ['', '.web'].map((ending) => [`replaced/${name}${ending}`, `./src/${name}${ending}.ts`]),
      ),
    ),
  },
  (file) => {
    const name = path.relative('src', file).replaceAll('\\', '/').replace(/\.ts$/, '');
    return replaced.includes(name) ? { id: `#replaced/${name}`, external: true } : undefined;
  },
  {
    codeSplitting: {
      groups: [
        { name: 'core', test: (id) => CORE.test(sourceOf(id)) && !TRANSPORTS.test(sourceOf(id)) },
        { name: 'transports', test: (id) => TRANSPORTS.test(sourceOf(id)) },
        // A fleet checks patterns, too. Otherwise they would be a file of their own for each server.
        { name: 'json-schema', test: (id) => /^src\/schema\/(json-schema|pattern)/.test(sourceOf(id)) },
      ],
    },
  },
);
await write(
  'dist/browser',
  Object.fromEntries(
    targets.flatMap(({ types, browser }) => (browser === undefined ? [] : [inBrowser(types, browser)])),
  ),
  (file) => withEnding(file, '.browser', '.web'),
);

/** The name of an entry point in a bundle, and its source. */
function entry(types: string, file: string): [string, string] {
  return [path.basename(file, '.js'), types.replace('./dist/', './').replace(/\.d\.ts$/, '.ts')];
}

/** The same for browsers, where an entry point may have fewer exports. */
function inBrowser(types: string, file: string): [string, string] {
  const [name, source] = entry(types, file);
  return [name, withEnding(source, '.browser') ?? source];
}

/**
 * Writes a bundle, and removes what an earlier one has left. A build that changes nothing writes nothing.
 *
 * @param replace what an import of this file gets instead.
 */
async function write(
  folder: string,
  input: Record<string, string>,
  replace: Parameters<typeof replaceFiles>[0],
  options: Pick<OutputOptions, 'codeSplitting'> = {},
): Promise<void> {
  const bundle = await rolldown({
    input,
    platform: 'node',
    external: (id) => !id.startsWith('.') && !path.isAbsolute(id),
    transform: { target: 'es2023' },
    plugins: [replaceFiles(replace)],
  });
  const { output } = await bundle.generate({ dir: folder, chunkFileNames: 'chunks/[name].js', ...options });
  await bundle.close();
  const kept = new Set(output.map(({ fileName }) => path.normalize(fileName)));
  for (const file of output)
    writeChanged(path.join(folder, file.fileName), file.type === 'chunk' ? file.code : file.source);
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (/\.js(\.map)?$/.test(file) && !kept.has(file)) rmSync(path.join(folder, file));
  }
}

/** The path of a module from the root of the repository, with slashes. */
function sourceOf(id: string): string {
  return path.relative('.', id).replaceAll('\\', '/');
}
