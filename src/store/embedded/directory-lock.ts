import { createHash, randomBytes } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import path from 'node:path';

/** The longest path of a socket that every system accepts, in bytes. */
const MAX_PATH = 100;
/** How long another process may take to say whether it gets the lock, in milliseconds. It may be suspended. */
const MAX_WAIT = 2000;
const LOCK = /^lock-[0-9a-f]{8}$/;
/** What the owner of the lock says. */
const MINE = 'mine';

/** Another process has the lock. */
export class DirectoryInUse extends Error {
  override readonly name = 'DirectoryInUse';

  constructor(directory: string) {
    super(`Another process uses the store ${directory}`);
  }
}

/**
 * Locks a directory for this process, as long as it lives. The lock is a socket that listens: the system ends it with the
 * process, also after `kill -9`, and other containers on this machine that share the directory see it too.
 *
 * @returns a function that releases the lock.
 * @throws DirectoryInUse if another process has the lock.
 */
export async function lockDirectory(directory: string, platform = process.platform): Promise<() => Promise<void>> {
  const real = realpathSync(directory);
  if (platform === 'win32') {
    // The system removes the name of a pipe with its process.
    const pipe = createHash('sha256').update(real.toLowerCase()).digest('hex');
    const candidate = await Candidate.listenOn(`\\\\.\\pipe\\everwire-${pipe}`);
    if (!candidate) throw new DirectoryInUse(directory);
    return () => candidate.close();
  }
  for (;;) {
    const name = `lock-${randomBytes(4).toString('hex')}`;
    const socket = path.join(real, name);
    if (Buffer.byteLength(socket) > MAX_PATH)
      throw new Error(`its path is too long: use one of at most ${MAX_PATH - name.length - 1} bytes`);
    const candidate = await Candidate.listenOn(socket);
    if (!candidate) continue;
    try {
      const decision = await decide(real, name);
      if (decision === 'mine') return candidate.own();
      await candidate.close();
      if (decision === 'theirs') throw new DirectoryInUse(directory);
    } catch (error) {
      await candidate.close();
      throw error;
    }
  }
}

/**
 * Each process listens on a socket with a name of its own, and then looks for others. So of two processes that start at
 * once, at least one sees the other. The one with the first name gets the lock, unless the other one already has it. Names
 * are not used again, so a socket on which nobody listens can be removed.
 */
async function decide(directory: string, own: string): Promise<'mine' | 'theirs' | 'lost'> {
  for (;;) {
    const names = (await readdir(directory)).filter((name) => LOCK.test(name));
    // Another process found it after it was made, and before somebody listened on it.
    if (!names.includes(own)) return 'lost';
    let others = 0;
    for (const name of names) {
      if (name === own) continue;
      const socket = path.join(directory, name);
      const answer = await ask(socket, name < own);
      if (answer === 'theirs') return 'theirs';
      if (answer === 'nobody') await rm(socket, { force: true });
      else others += 1;
    }
    if (others === 0) return 'mine';
  }
}

/**
 * Asks who listens on a socket. It says that it has the lock, or goes away.
 *
 * @param isFirst whether the other one gets the lock if both want it.
 */
function ask(socket: string, isFirst: boolean): Promise<'theirs' | 'gone' | 'nobody'> {
  return new Promise((resolve) => {
    const connection = connect(socket);
    const done = (answer: 'theirs' | 'gone' | 'nobody'): void => {
      resolve(answer);
      connection.destroy();
    };
    connection.on('connect', () => {
      if (isFirst) done('theirs');
      else connection.setTimeout(MAX_WAIT, () => done('theirs'));
    });
    connection.on('data', () => done('theirs'));
    connection.on('close', () => resolve('gone'));
    connection.on('error', ({ code }: NodeJS.ErrnoException) => {
      if (code === 'ECONNREFUSED' || code === 'ENOENT') resolve('nobody');
      // A full queue of connections means that somebody listens.
      else resolve(code === 'ECONNRESET' || code === 'EPIPE' ? 'gone' : 'theirs');
    });
  });
}

/** A process that wants the lock, as others see it. */
class Candidate {
  readonly #server: Server;
  readonly #asking = new Set<Socket>();
  #owns = false;

  private constructor(server: Server) {
    this.#server = server;
    server.on('connection', (connection) => {
      connection.on('error', () => {});
      if (this.#owns) return tell(connection);
      this.#asking.add(connection.unref());
      connection.on('close', () => this.#asking.delete(connection));
    });
  }

  /** Undefined if the name is taken. */
  static listenOn(socket: string): Promise<Candidate | undefined> {
    return new Promise((resolve, reject) => {
      const server = createServer();
      const candidate = new Candidate(server);
      server.on('error', (error: NodeJS.ErrnoException) => {
        if (error.code === 'EADDRINUSE') resolve(undefined);
        else reject(error);
      });
      server.listen(socket, () => {
        server.unref();
        resolve(candidate);
      });
    });
  }

  /** Tells the others. Returns a function that releases the lock. */
  own(): () => Promise<void> {
    this.#owns = true;
    for (const connection of this.#asking) tell(connection);
    return () => this.close();
  }

  /** Removes the socket. */
  close(): Promise<void> {
    for (const connection of this.#asking) connection.destroy();
    return new Promise((resolve) => void this.#server.close(() => resolve()));
  }
}

function tell(connection: Socket): void {
  connection.end(MINE, () => connection.destroy());
}
