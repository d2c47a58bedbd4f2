import { gzipSync } from 'node:zlib';
import { build, type Plugin } from 'esbuild';
import { root } from './process.ts';

/** Code that a bundler has made of a module and of everything that it imports. */
export interface Bundle {
  /** The one file with everything. */
  readonly code: string;
  /** The modules that it still imports. */
  readonly imports: readonly string[];
  /** The bytes of everything, minified and gzipped, and of what an import loads before it runs. */
  readonly size: number;
  readonly firstSize: number;
}

const nodeIsExternal: Plugin = {
  name: 'node',
  setup: ({ onResolve }) => onResolve({ filter: /^node:/ }, ({ path }) => ({ path, external: true })),
};

/**
 * Bundles a module as a user does, from the built package.
 *
 * @param conditions of the runtime, as bundlers set them for package.json.
 */
export async function bundle(contents: string, conditions: readonly string[]): Promise<Bundle> {
  const made = async (splitting: boolean) => {
    const { metafile, outputFiles } = await build({
      stdin: { contents, resolveDir: root, sourcefile: 'entry.js' },
      conditions: [...conditions],
      // Bundlers know the modules of Node in a worker. In a browser, there are none.
      ...(conditions.includes('workerd')
        ? { platform: 'neutral', plugins: [nodeIsExternal] }
        : { platform: 'browser' }),
      ...{ bundle: true, minify: true, splitting, format: 'esm', outdir: 'bundle' },
      ...{ write: false, metafile: true, logLevel: 'silent' },
    });
    return { outputs: metafile.outputs, files: outputFiles };
  };
  const [whole, split] = [await made(false), await made(true)];
  const bytesOf = (name: string): number => {
    const file = split.files.find(({ path }) => path.replaceAll('\\', '/').endsWith(`/${name}`));
    return gzipSync(file!.contents, { level: 9 }).length;
  };
  const first = Object.keys(split.outputs).filter((name) => split.outputs[name]!.entryPoint === 'entry.js');
  const needed = new Set(first);
  // The loop also visits entries that are added while it runs.
  for (const name of needed)
    for (const { path, kind, external } of split.outputs[name]!.imports)
      if (kind !== 'dynamic-import' && external !== true) needed.add(path);
  const [file] = whole.files;
  return {
    code: file!.text,
    imports: Object.values(whole.outputs).flatMap(({ imports }) =>
      imports.flatMap(({ path, external }) => (external === true ? [path] : [])),
    ),
    size: gzipSync(file!.contents, { level: 9 }).length,
    firstSize: [...needed].reduce((sum, name) => sum + bytesOf(name), 0),
  };
}
