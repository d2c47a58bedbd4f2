import { stat } from 'node:fs/promises';
import path from 'node:path';
import { Failure } from './failure.ts';
import { surroundings } from './surroundings.ts';

/** Options whose value is the path of a file that is read. The values of other options may be `@file`. */
const PATHS: ReadonlySet<string> = new Set(['config', 'tlsCert', 'tlsKey']);

/**
 * Checks that the options that name a file to write do not name a file that the command reads, which would destroy it, nor the same
 * file twice. Paths that differ may name the same file. The configuration files of MCP hosts are never replaced.
 *
 * @param flags the options of the command.
 * @param files what the command reads in addition.
 * @throws Failure with code 2.
 */
export async function keepInputs(flags: object, ...files: string[]): Promise<void> {
  const { saved, record, out, output } = flags as Readonly<Record<string, string | undefined>>;
  // `--output -` is stdout. The other options take it for the name of a file.
  const outputs = {
    '--saved': saved,
    '--record': record,
    '--out': out,
    '--output': output === '-' ? undefined : output,
  };
  if (Object.values(outputs).every((file) => file === undefined)) return;
  const { usualFiles } = await import('./mcp-json.ts');
  const inputs = [...files, ...inputsOf(flags), ...usualFiles(surroundings()).map(({ file }) => file)];
  const taken = new Set(await Promise.all(inputs.map(identityOf)));
  for (const [option, file] of Object.entries(outputs)) {
    const written = file === undefined ? undefined : await identityOf(file);
    if (written === undefined) continue;
    if (taken.has(written))
      throw Failure.usage(
        `${option}: ${file} is a file that this command uses for something else; choose another name`,
      );
    taken.add(written);
  }
}

/** The files that options name. */
function inputsOf(flags: object): string[] {
  return Object.entries(flags).flatMap(([name, given]: [string, unknown]) =>
    [given].flat().flatMap((value) => {
      if (typeof value !== 'string') return [];
      if (PATHS.has(name)) return value;
      // A call of `check` is tool=file.
      const file = name === 'call' ? /^[^=]+=(.+)$/s.exec(value) : /^@(.+)$/s.exec(value);
      return file ? file[1]! : [];
    }),
  );
}

/**
 * What all names of a file have in common. Undefined for a device, a folder and what cannot be read: opening it reports that. A file
 * that does not exist has only its path.
 */
async function identityOf(file: string): Promise<string | undefined> {
  try {
    const stats = await stat(file, { bigint: true });
    return stats.isFile() ? `${stats.dev} ${stats.ino}` : undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? path.resolve(file) : undefined;
  }
}
