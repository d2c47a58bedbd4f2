import type { RootDatabase } from 'lmdb';
import { stateIn } from '../tables/state-in.ts';
import type { TableName } from '../tables/table.ts';
import type { EmbeddedState, EmbeddedStateOptions } from './embedded-types.ts';
import { LmdbTable } from './lmdb-table.ts';
import { Writer } from './writer.ts';

/** The state in an open database. */
export async function stateInFile(
  root: RootDatabase<Buffer, string>,
  file: string,
  ondamage: (name: TableName, key: string) => void,
  options: EmbeddedStateOptions,
  unlock: () => Promise<void>,
): Promise<EmbeddedState> {
  const writer = new Writer(root, file);
  const { node, sessions, events, tasks, recover } = stateIn((name) => {
    const database = root.openDB<Buffer, string>(name, { encoding: 'binary' });
    return new LmdbTable(database, writer, (key) => ondamage(name, key));
  }, options);
  await recover();
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= closeAll(writer, unlock));
  return { node, sessions, events, tasks, close, [Symbol.asyncDispose]: close };
}

async function closeAll(writer: Writer, unlock: () => Promise<void>): Promise<void> {
  try {
    await writer.close();
  } finally {
    await unlock();
  }
}
