import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

/** Checks what `npm pack` would publish: everything that package.json promises, and nothing that is not for users. */

interface Packed {
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string }[];
}

const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as {
  bin: Record<string, string>;
  exports: Record<string, string | Record<string, string>>;
};
const output = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
  encoding: 'utf8',
  stdio: ['ignore', 'pipe', 'inherit'],
  // On Windows npm is a script, which only a shell can start.
  shell: process.platform === 'win32',
});
const [packed] = JSON.parse(output) as [Packed];
const paths = new Set(packed.files.map(({ path }) => path));
const problems: string[] = [];

const promised = [
  ...Object.values(manifest.bin),
  ...Object.values(manifest.exports).flatMap((target) => (typeof target === 'string' ? target : Object.values(target))),
].map((target) => target.replace(/^\.\//, ''));
for (const path of [...promised, 'README.md', 'LICENSE', 'CHANGELOG.md']) {
  if (!paths.has(path)) problems.push(`${path} is missing`);
}

for (const path of paths) {
  if (/\.test\.|\.map$|(^|\/)(test|bench|scripts)\//.test(path)) problems.push(`${path} is not for users`);
  const source = path.replace(/^dist\//, '').replace(/\.d\.ts$/, '.ts');
  if (path.startsWith('dist/src/') && !existsSync(source))
    problems.push(`${path} is left from an old build: no ${source}`);
}

for (const path of Object.values(manifest.bin)) {
  // Without it, a shell would run the file as a shell script.
  if (existsSync(path) && !readFileSync(path, 'utf8').startsWith('#!/usr/bin/env node\n')) {
    problems.push(`${path} does not begin with #!/usr/bin/env node`);
  }
}

for (const problem of problems) console.error(`package: ${problem}`);
const kilobytes = (bytes: number): string => `${Math.round(bytes / 1000)} kB`;
console.error(
  `${paths.size} files, ${kilobytes(packed.size)} packed, ${kilobytes(packed.unpackedSize)} unpacked, ${problems.length} problems.`,
);
process.exitCode = problems.length === 0 ? 0 : 1;
