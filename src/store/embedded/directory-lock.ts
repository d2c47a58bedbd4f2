import { createHash, randomUUID } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import path from 'node:path';

/** The longest path of a socket that every system accepts, in bytes. */
const MAX_PATH = 100;

/** Another process has the lock. */
export class DirectoryInUse extends Error {
  override readonly name = 'DirectoryInUse';
}

/**
 * Locks a directory for this process, as long as it lives. The lock is a socket that listens: the system ends it with the
 * process, also after `kill -9`, and other containers on this machine that share the directory see it too.
 *
 * @returns a function that releases the lock.
 * @throws DirectoryInUse if another process has the lock.
 */
export async function lockDirectory(directory: string): Promise<() => Promise<void>> {
  const windows = process.platform === 'win32';
  const real = realpathSync(directory);
  const socket = windows
    ? `\\\\.\\pipe\\everwire-${createHash('sha256').update(real.toLowerCase()).digest('hex')}`
    : path.join(real, 'lock');
  if (!windows && Buffer.byteLength(socket) > MAX_PATH)
    throw new Error(`its path is too long: use one of at most ${MAX_PATH - '/lock'.length} bytes`);
  for (;;) {
    const server = await listenOn(socket);
    if (server) return () => new Promise((resolve) => void server.close(() => resolve()));
    if (windows || (await answers(socket))) throw new DirectoryInUse(`Another process uses the store ${directory}`);
    // A process that was killed has left it. Another one may have replaced it in the meantime.
    const left = `${socket}-${randomUUID()}`;
    if (!(await moved(socket, left))) continue;
    if (await answers(left)) {
      await moved(left, socket);
      throw new DirectoryInUse(`Another process uses the store ${directory}`);
    }
    await rm(left, { force: true });
  }
}

/** Undefined if the name is taken. */
function listenOn(socket: string): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer((connection) => connection.destroy());
    server.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(undefined);
      else reject(error);
    });
    server.listen(socket, () => resolve(server.unref()));
  });
}

function answers(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = connect(socket, () => {
      connection.destroy();
      resolve(true);
    });
    connection.on('error', (error: NodeJS.ErrnoException) =>
      // A full queue of connections also means that somebody listens.
      resolve(error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT'),
    );
  });
}

async function moved(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}
