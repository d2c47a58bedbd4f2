import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The root of the package, whether this runs from the sources or from the build. */
const root = ['..', '../..']
  .map((up) => fileURLToPath(new URL(up, import.meta.url)))
  .find((folder) => existsSync(path.join(folder, 'package.json')))!;

/**
 * The milliseconds that a plain `tsc --noEmit` takes for a server with the given number of tools, against the built
 * declarations: a third of them with Zod schemas, a third with plain ones, a third with both an input and an output.
 *
 * @throws Error with the compiler's output if it does not accept the server
 */
export async function typeCheck(tools: number): Promise<number> {
  const folder = await mkdtemp(path.join(tmpdir(), 'everwire-types-'));
  try {
    const modules = path.join(root, 'node_modules');
    await symlink(modules, path.join(folder, 'node_modules'), 'junction');
    await writeFile(path.join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
    await writeFile(path.join(folder, 'tsconfig.json'), JSON.stringify(config()));
    await writeFile(path.join(folder, 'server.ts'), serverOf(tools));
    const started = performance.now();
    await run(process.execPath, [path.join(modules, 'typescript/bin/tsc'), '--noEmit', '-p', folder]).catch(
      (error: Error & { stdout?: string }) => {
        throw new Error(`tsc refused a server of ${tools} tools:\n${error.stdout ?? ''}`, { cause: error });
      },
    );
    return performance.now() - started;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function config(): object {
  return {
    compilerOptions: {
      target: 'es2023',
      module: 'nodenext',
      strict: true,
      skipLibCheck: true,
      types: ['node'],
      paths: { 'everwire/server': [path.join(root, 'dist/src/server/index.d.ts')] },
    },
    files: ['server.ts'],
  };
}

/** Handlers use their arguments in ways that compile only if the types are inferred, and not `any`. */
function serverOf(tools: number): string {
  return [
    "import { McpServer } from 'everwire/server';",
    "import { z } from 'zod';",
    "export const server = new McpServer({ name: 'large', version: '1.0.0' });",
    'type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? A : never;',
    'const same = <A>() => <B>(value: Same<B, A>): A => value as A;',
    ...Array.from({ length: tools }, (_, index) => [withZod, withPlain, withOutput][index % 3]!(index)),
  ].join('\n');
}

function withZod(index: number): string {
  return `server.tool('zod-${index}', {
  description: 'Finds books',
  input: z.object({
    title${index}: z.string().min(1).describe('Part of the title'),
    language: z.enum(['en', 'de', 'fr']).default('en'),
    limit: z.int().max(100).optional(),
    filter: z.object({ from: z.iso.date(), tags: z.array(z.string()) }).optional(),
  }),
}, async ({ title${index}, language, limit, filter }, context) => {
  same<'en' | 'de' | 'fr'>()(language);
  same<string[] | undefined>()(filter?.tags);
  await context.progress(1, limit);
  return title${index}.toUpperCase();
});`;
}

function withPlain(index: number): string {
  return `server.tool('plain-${index}', {
  description: 'Lends a book',
  input: {
    type: 'object',
    properties: {
      id${index}: { type: 'string' },
      days: { type: 'integer', maximum: 60 },
      to: { type: 'object', properties: { name: { type: 'string' }, member: { type: 'boolean' } }, required: ['name'] },
      how: { enum: ['post', 'desk'] },
    },
    required: ['id${index}', 'to'],
  },
}, ({ id${index}, days, to, how }) => {
  same<number | undefined>()(days);
  same<'post' | 'desk' | undefined>()(how);
  return id${index}.length + to.name;
});`;
}

function withOutput(index: number): string {
  return `server.tool('output-${index}', {
  input: z.object({ a${index}: z.number(), b: z.number() }),
  output: z.object({ total: z.number(), steps: z.array(z.object({ name: z.string(), value: z.number() })) }),
  annotations: { readOnlyHint: true },
}, ({ a${index}, b }) => {
  same<number>()(b);
  return { total: a${index} + b, steps: [{ name: 'sum', value: b }] };
});`;
}
