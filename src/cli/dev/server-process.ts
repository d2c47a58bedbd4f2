import { spawn, type ChildProcess } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { isPeerUrl } from '../../base/peer-url.ts';
import { Deferred } from '../../base/deferred.ts';
import { waitFor } from '../../base/wait.ts';
import { isObject } from '../../jsonrpc/message.ts';
import { passOnToStderr } from '../../transport/stdio/pass-on-stderr.ts';
import { ProcessGroup } from '../../transport/stdio/process-group.ts';
import { watchdog } from '../../transport/stdio/watchdog.ts';
import type { Transport } from '../../transport/transport.ts';
import { built } from '../../base/built.ts';
import { DEV, type DevMessage } from './child-messages.ts';
import { Channels } from './channels.ts';

export interface ServerProcessOptions {
  /** The absolute path of the file that exports the server. */
  readonly file: string;
  /** Modules that Node loads first. */
  readonly imports: readonly string[];
  /** Called with the paths of modules when Node loads them, or looks for them. */
  readonly onfiles: (files: readonly string[]) => void;
  readonly onerror: (error: Error) => void;
}

/** How long a process has to end after SIGTERM, and then after SIGKILL. Milliseconds. */
const STOP_TIMEOUT = 2000;
/** How long its last output may take. Processes that it has left behind may hold its pipes open. Milliseconds. */
const LAST_OUTPUT_WAIT = 500;
const WINDOWS = process.platform === 'win32';

/**
 * A process that runs the user's file. What it prints goes to stderr, also what it prints to stdout, because stdout may
 * belong to the protocol.
 */
export class ServerProcess {
  /** Resolves when the file is loaded. Rejects if the process ends before, or the file exports no server. */
  readonly ready: Promise<void>;
  readonly #file: string;
  readonly #child: ChildProcess;
  readonly #channels: Channels;
  readonly #group: ProcessGroup | undefined;
  readonly #gone = new Deferred();
  /** All its output is read. */
  readonly #closed = new Deferred();
  #ended = false;

  constructor({ file, imports, onfiles, onerror }: ServerProcessOptions) {
    this.#file = path.basename(file);
    const args = [...imports.flatMap((each) => ['--import', each]), built('lib/dev-child.js'), file];
    watchdog.start(({ message }) => onerror(new Error(`The watchdog of ${this.#file} cannot run: ${message}`)));
    // Starting a process makes a pipe that it inherits blocking here, too: nobody would be served until stderr is read.
    const output = process.stderr.isTTY ? 2 : 'pipe';
    const child = spawn(process.execPath, args, {
      stdio: ['ignore', output, output, 'ipc'],
      env: { ...process.env, WATCH_REPORT_DEPENDENCIES: '1' },
      // Its own process group, so that its descendants can be ended with it. On Windows this would open a window.
      detached: !WINDOWS,
      windowsHide: true,
    });
    this.#child = child;
    for (const stream of [child.stdout, child.stderr]) if (stream) passOnToStderr(stream, child);
    child.once('close', () => this.#closed.resolve());
    if (child.pid !== undefined) {
      this.#group = new ProcessGroup(child.pid);
      watchdog.add(child.pid);
    }
    this.#channels = new Channels(
      (packet) =>
        new Promise((resolve, reject) => {
          child.send(packet, (error) => (error ? reject(error) : resolve()));
        }),
    );
    const ready = new Deferred();
    this.ready = ready.promise;
    this.ready.catch(() => {});
    child.on('message', (given: unknown) => {
      // The user's file may send something else, for example to a process manager.
      if (!isObject(given)) return;
      if (Array.isArray(given['watch:import'])) onfiles(pathsIn(given['watch:import']));
      else if (Array.isArray(given['watch:require'])) onfiles(pathsIn(given['watch:require']));
      if (!Object.hasOwn(given, DEV)) return;
      const message = given[DEV] as DevMessage;
      if ('ready' in message) ready.resolve();
      else if ('unusable' in message) ready.reject(new Error(message.unusable));
      else this.#channels.receive(message);
    });
    const end = (how: string): void => {
      if (this.#ended) return;
      this.#ended = true;
      // Its last output says why.
      void this.#output().then(() => ready.reject(new Error(`it ${how}`)));
      this.#channels.end(new Error(`${this.#file} ${how}`));
      void this.#release();
    };
    child.once('error', ({ message }) => end(`cannot be started: ${message}`));
    child.once('exit', (code, signal) => end(signal === null ? `exited with code ${code}` : `was ended by ${signal}`));
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Opens a connection to the server. */
  open(): Transport {
    const ready = this.ready.catch(({ message }: Error) => {
      throw new Error(`${this.#file} did not start: ${message}`);
    });
    return this.#channels.open(ready);
  }

  /** Ends the process and its descendants. Resolves when they are gone. */
  async stop(): Promise<void> {
    if (!this.#ended) {
      this.#group?.signal('SIGTERM');
      await waitFor(this.#gone.promise, { timeout: STOP_TIMEOUT }).catch(() => this.#group?.signal('SIGKILL'));
    }
    await waitFor(this.#gone.promise, { timeout: STOP_TIMEOUT }).catch(() => {});
  }

  async #release(): Promise<void> {
    const group = this.#group;
    if (group) {
      await group.endSurvivors(STOP_TIMEOUT);
      group.forget();
      watchdog.forget(group.pid);
    }
    if (this.#child.connected) this.#child.disconnect();
    await this.#output();
    this.#gone.resolve();
  }

  /** Resolves when its last output is passed on, if it does not take long. */
  #output(): Promise<void> {
    return waitFor(this.#closed.promise, { timeout: LAST_OUTPUT_WAIT }).catch(() => {});
  }
}

/** The paths of modules that Node has reported. Modules of Node itself and of packages are left out. */
function pathsIn(reported: readonly unknown[]): string[] {
  return reported.flatMap((each) => {
    if (typeof each !== 'string') return [];
    const file = each.startsWith('file:') && isPeerUrl(each) ? fileURLToPath(each) : each;
    return path.isAbsolute(file) && !/[\\/]node_modules[\\/]/.test(file) ? [file] : [];
  });
}
