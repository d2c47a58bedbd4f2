import { spawn } from 'node:child_process';
import { rename, rm, stat } from 'node:fs/promises';
import type { RootDatabase } from 'lmdb';
import { built } from '../../base/built.ts';
import { TABLES, type TableName } from '../tables/table.ts';
import { DAMAGED, toFrame } from './frame.ts';
import { openDatabase } from './open-database.ts';

/** The longest time to read a whole file. The pages of a damaged one may refer to each other without end. Milliseconds. */
const READ_TIME = 120_000;
/** The signals that end a process which reads from an invalid address, or whose V8 finds a value that cannot be. */
const CRASHES: ReadonlySet<string> = new Set(['SIGSEGV', 'SIGBUS', 'SIGABRT', 'SIGILL', 'SIGTRAP', 'SIGFPE']);
/** How many entries are written in one transaction. */
const PORTION = 1000;

/** The files of a store. */
export interface StoreFiles {
  readonly data: string;
  /** A damaged file, which is kept for its owner. */
  readonly damaged: string;
  /** A new file with what can be read of the damaged one. */
  readonly repaired: string;
}

/** The lock file that LMDB has for each of its files. */
const lockOf = (file: string): string => `${file}-lock`;

/**
 * Checks the data of a store. If it is damaged, replaces it by what can be read of it.
 *
 * @returns what was repaired. Undefined if nothing was damaged.
 */
export async function repair({ data, damaged, repaired }: StoreFiles): Promise<string | undefined> {
  // An earlier process may have ended between the two renames below.
  if ((await sizeOf(data)) === undefined && (await sizeOf(repaired)) !== undefined) await rename(repaired, data);
  const size = await sizeOf(data);
  if (size === undefined) return undefined;
  if (size > 0 && (await read([data], () => {}))) return undefined;
  await rm(repaired, { force: true });
  await rm(lockOf(repaired), { force: true });
  const count = await rescue(data, repaired);
  await rm(lockOf(data), { force: true });
  await rename(data, damaged);
  await rename(repaired, data);
  await rm(lockOf(repaired), { force: true });
  return `${data} was damaged: ${count} entries could be read, and the others are lost; the damaged file is now ${damaged}`;
}

async function sizeOf(file: string): Promise<number | undefined> {
  try {
    return (await stat(file)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Copies the entries that can be read: from the beginning of each database, and if that fails, also from its end. */
async function rescue(from: string, to: string): Promise<number> {
  const root = await openDatabase(to);
  try {
    return await copy(from, root);
  } finally {
    await root.close();
  }
}

async function copy(from: string, root: RootDatabase<Buffer, string>): Promise<number> {
  let count = 0;
  for (const name of TABLES) {
    const database = root.openDB<Buffer, string>(name, { encoding: 'binary' });
    let portion: [key: string, text: string][] = [];
    const write = (): void => {
      const entries = portion;
      portion = [];
      root.transactionSync(() => {
        for (const [key, text] of entries) {
          if (!database.doesExist(key)) count += 1;
          database.putSync(key, toFrame(key, text));
        }
      });
    };
    const take = (key: string, text: string): void => {
      portion.push([key, text]);
      if (portion.length >= PORTION) write();
    };
    const whole = await read([from, name, 'forward'] satisfies [string, TableName, string], take);
    if (!whole) await read([from, name, 'backward'], take);
    write();
  }
  return count;
}

/**
 * Reads a file in another process. Returns whether it came to the end.
 *
 * @throws Error (rejects) if the process was ended for another reason than a damaged file, and what `take` throws.
 */
function read(args: readonly string[], take: (key: string, text: string) => void): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [built('lib/store-check.js'), ...args], {
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: READ_TIME,
      killSignal: 'SIGKILL',
    });
    let rest: Buffer = Buffer.alloc(0);
    child.stdout.on('data', (chunk: Buffer) => {
      rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      let at = 0;
      while (rest.length - at >= 8) {
        const keyEnd = at + 8 + rest.readUInt32LE(at);
        const end = keyEnd + rest.readUInt32LE(at + 4);
        if (rest.length < end) break;
        try {
          take(rest.toString('utf8', at + 8, keyEnd), rest.toString('utf8', keyEnd, end));
        } catch (error) {
          child.stdout.destroy();
          child.kill('SIGKILL');
          return reject(error);
        }
        at = end;
      }
      rest = rest.subarray(at);
    });
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (code === 0) return resolve(true);
      // On Windows, a crash has no signal but an exit code above 255. The process is killed when its time is over.
      const crashed = signal === null ? code! > 0xff : CRASHES.has(signal) || child.killed;
      if (code === DAMAGED || crashed) return resolve(false);
      reject(new Error(`The store ${args[0]} could not be checked: its reader ended with ${signal ?? `code ${code}`}`));
    });
  });
}
