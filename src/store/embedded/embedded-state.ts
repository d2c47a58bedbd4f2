import path from 'node:path';
import type { TableName } from '../tables/table.ts';
import { DirectoryInUse, lockDirectory } from './directory-lock.ts';
import type { EmbeddedState, EmbeddedStateOptions } from './embedded-types.ts';
import { loadLmdb, openDatabase, unusable } from './open-database.ts';
import { makePrivateDirectory } from './private-directory.ts';
import { repair } from './repair.ts';
import { stateInFile } from './state-in-file.ts';

/**
 * Keeps the state of a server in a directory of this machine, so that it survives a restart, `kill -9` included. If the
 * machine loses power, the newest changes may be lost. One process uses a directory at a time. Damaged data is replaced by
 * what can be read of it. Tasks that were running end as failed.
 *
 * Needs the package `lmdb`, which is loaded now.
 *
 * @param directory is created if it is missing, and closed to other users. It must not be on a network file system.
 * @throws Error with a readable message if `lmdb` is not installed, the directory cannot be used, or another process uses
 * it.
 */
export async function embeddedState(directory: string, options: EmbeddedStateOptions = {}): Promise<EmbeddedState> {
  const { onwarning = (message: string): void => process.emitWarning(message) } = options;
  await loadLmdb();
  const unlock = await lock(directory);
  try {
    const file = (name: string): string => path.join(directory, name);
    const data = file('state.mdb');
    const warning = await repair({ data, damaged: file('damaged.mdb'), repaired: file('repaired.mdb') });
    if (warning !== undefined) onwarning(warning);
    const root = await openDatabase(data);
    try {
      const ondamage = (name: TableName, key: string): void =>
        onwarning(`${data} is damaged: the entry ${key} of ${name} is lost; restart the server to repair it`);
      return await stateInFile(root, data, ondamage, options, unlock);
    } catch (error) {
      await root.close();
      throw error;
    }
  } catch (error) {
    await unlock();
    throw error;
  }
}

async function lock(directory: string): Promise<() => Promise<void>> {
  try {
    await makePrivateDirectory(directory);
    return await lockDirectory(directory);
  } catch (error) {
    if (error instanceof DirectoryInUse) throw error;
    throw unusable(directory, error);
  }
}
