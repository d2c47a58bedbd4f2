import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import spawn from 'cross-spawn';
import type { Message } from '../../jsonrpc/message.ts';
import { InvalidMessage } from '../../jsonrpc/parse.ts';
import type { SendOptions, Transport } from '../transport.ts';
import { watchMemory } from './memory-watch.ts';
import { ProcessGroup } from './process-group.ts';
import { StderrLog } from './stderr-log.ts';
import { StreamTransport } from './stream.ts';
import { watchdog } from './watchdog.ts';

/** What to start, and its bounds. */
export interface ChildOptions {
  /** A path, or a name that is looked for in `PATH`. No shell takes it apart. */
  readonly command: string;
  /** Default none. */
  readonly args?: readonly string[] | undefined;
  /** Variables for the child beside those of this process; one that is undefined is taken away. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The child's working directory. Default: this process's. */
  readonly cwd?: string | undefined;
  /**
   * What becomes of the child's stderr: written to this process's, only its tail kept, or neither. Default `inherit`,
   * or `capture` where `onstderr` is given.
   */
  readonly stderr?: 'inherit' | 'capture' | 'ignore' | undefined;
  /** Takes each line that the child writes to stderr. */
  readonly onstderr?: ((line: string) => void) | undefined;
  /** The bound of one message from the child, in bytes. Default 16 MiB. */
  readonly maxMessageBytes?: number | undefined;
  /** How much may wait for a child that does not read, in bytes; beyond it `send` rejects. Default 64 MiB. */
  readonly maxPendingBytes?: number | undefined;
  /** How long the child may take to exit after its stdin is closed, before SIGTERM. Milliseconds, default 2 000. */
  readonly stopTimeout?: number | undefined;
  /** How long it may take after SIGTERM, before SIGKILL. Milliseconds, default the same as `stopTimeout`. */
  readonly killTimeout?: number | undefined;
  /**
   * How much memory the child and all that it starts may have, in bytes that are resident; what processes share counts for
   * each of them. Measured every two seconds: over it they are killed, and `closeReason` says so. On Windows it is not
   * enforced, which is reported. Default: no limit.
   */
  readonly maxMemory?: number | undefined;
  /**
   * Whether the child is ended even where this process is killed and can do nothing any more (SIGKILL): a shell that
   * watches over all such children gives it two seconds to see that its stdin is closed, then SIGTERM, then SIGKILL. Not
   * on Windows, nor where there is no `/bin/sh`. Default false.
   */
  readonly watchdog?: boolean | undefined;
}

/** How a process ended. */
export interface ChildExit {
  /** Null where a signal ended it. */
  readonly code: number | null;
  /** Null where it exited by itself. */
  readonly signal: NodeJS.Signals | null;
}

/** A child has ended by itself. */
class ChildEnded extends Error {
  override readonly name = 'ChildEnded';
  /** The last lines that it wrote to stderr, as many as fit into a message; empty where there were none. */
  readonly stderr: string;
  /** The message without what the child wrote. */
  readonly summary: string;

  constructor(summary: string, last: string | undefined, stderr: string, options?: ErrorOptions) {
    super(last === undefined ? summary : `${summary}: ${last}`, options);
    this.summary = summary;
    this.stderr = stderr;
  }
}

/** How long the end of a process is waited for after SIGKILL. Only a process stuck in the kernel takes longer. */
const LAST_WAIT = 5000;
const MEBIBYTE = 1024 * 1024;

/** Starts a stdio server as a child process: the client's end of stdio (2025-11-25, basic/transports: stdio). */
export function childTransport(options: ChildOptions): ChildTransport {
  return new ChildTransport(options);
}

/**
 * The connection is the child's life: `start` spawns it, `close` ends it and all that it started. Where it ends by
 * itself, what it wrote before is delivered, and `closeReason` says why before `onclose` is called.
 */
export class ChildTransport implements Transport {
  onmessage: Transport['onmessage'];
  onclose: Transport['onclose'];
  onerror: Transport['onerror'];
  /** The child has exited; its output may not be read to the end yet. */
  onexit: ((exit: ChildExit) => void) | undefined;
  readonly #options: ChildOptions;
  readonly #name: string;
  readonly #stopTimeout: number;
  readonly #killTimeout: number;
  readonly #stderr: StderrLog;
  #child: ChildProcess | undefined;
  #group: ProcessGroup | undefined;
  #stream: StreamTransport | undefined;
  #starting: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  #exit: ChildExit | undefined;
  #exited = Promise.resolve();
  #gone = Promise.resolve();
  #stopped = false;
  /** Ends the measuring. */
  #unwatch: (() => void) | undefined;
  /** Why it was ended, where that was not asked for. */
  #exceeded: Error | undefined;
  #reason: Error | undefined;

  /** @throws TypeError where `maxMemory` is no positive number. */
  constructor(options: ChildOptions) {
    const { maxMemory } = options;
    if (maxMemory !== undefined && !(maxMemory > 0)) throw new TypeError('maxMemory must be a number of bytes');
    this.#options = options;
    this.#name = basename(options.command);
    this.#stopTimeout = options.stopTimeout ?? 2000;
    this.#killTimeout = options.killTimeout ?? this.#stopTimeout;
    this.#stderr = new StderrLog(options.onstderr && ((line) => this.#guard(() => options.onstderr?.(line))));
  }

  /** The id of the child's process; undefined before `start`. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** How the child ended; undefined while it runs. */
  get exit(): ChildExit | undefined {
    return this.#exit;
  }

  /** About the last 8 kB that the child wrote to stderr; empty where that is ignored. */
  get stderrTail(): string {
    return this.#stderr.tail;
  }

  /** Why the connection is over, where it was not closed by `close`. Set before `onclose` is called. */
  get closeReason(): Error | undefined {
    return this.#reason;
  }

  /**
   * Starts the child; resolves when it runs.
   *
   * @throws where the command cannot be started, with a sentence that says why.
   */
  start(): Promise<void> {
    if (this.#starting || this.#closing) {
      return Promise.reject(new Error(this.#closing ? 'The connection is closed' : 'The transport is started already'));
    }
    this.#starting = this.#start();
    return this.#starting;
  }

  send(message: Message, options?: SendOptions): Promise<void> {
    const stream = this.#stream;
    if (this.#reason)
      return Promise.reject(new Error(`The connection is closed: ${this.#reason.message}`, { cause: this.#reason }));
    if (!stream) return Promise.reject(new Error('The transport is not started'));
    return stream.send(message, options);
  }

  setProtocolVersion(version: string): void {
    this.#stream?.setProtocolVersion(version);
  }

  /**
   * Closes the child's stdin, then ends it by SIGTERM and SIGKILL where it does not exit by itself (2025-11-25,
   * basic/lifecycle: Shutdown, stdio). Resolves when it and all that it started are gone.
   */
  close(): Promise<void> {
    if (!this.#closing) this.#stopped = true;
    return this.#shutDown();
  }

  async #start(): Promise<void> {
    const { command, args = [], env, cwd, stderr = this.#options.onstderr ? 'capture' : 'inherit' } = this.#options;
    let child: ChildProcess;
    try {
      child = spawn(command, args, {
        stdio: ['pipe', 'pipe', stderr === 'ignore' ? 'ignore' : 'pipe'],
        env: { ...process.env, ...env },
        cwd,
        // A group of its own, so that what the child starts can be ended with it. On Windows this would open a window.
        detached: process.platform !== 'win32',
        windowsHide: true,
      });
      // At once: this process may be told to end before the child has got going.
      if (child.pid !== undefined) this.#group = this.#guarded(child.pid);
      await new Promise<void>((resolve, reject) => {
        child.once('spawn', resolve);
        child.once('error', reject);
      });
    } catch (error) {
      this.#reason = this.#cannotStart(error as NodeJS.ErrnoException);
      throw this.#reason;
    }
    this.#watch(child, stderr);
    return this.#stream?.start();
  }

  #guarded(pid: number): ProcessGroup {
    const { maxMemory: limit, watchdog: watched } = this.#options;
    if (watched && process.platform !== 'win32') {
      watchdog.add(pid, (error) => this.#report(new Error(`Nothing watches over ${this.#name}: ${error.message}`)));
    }
    if (limit !== undefined) {
      const onexceeded = (used: number, processes: readonly number[]): void => this.#exceed(used, limit, processes);
      let told = false;
      const onerror = (error: Error): void => {
        if (!told) this.#report(new Error(`The memory of ${this.#name} is not limited: ${error.message}`));
        told = true;
      };
      this.#unwatch = watchMemory({ pid, limit, onexceeded, onerror });
    }
    return new ProcessGroup(pid);
  }

  #exceed(used: number, limit: number, processes: readonly number[]): void {
    const [has, may] = [used, limit].map((bytes) => `${Math.ceil(bytes / MEBIBYTE)} MiB`);
    this.#exceeded = new Error(`${this.#name} was ended: it had ${has} of memory, and may have ${may}`);
    this.#group?.signal('SIGKILL');
    // Some may have left the group.
    for (const pid of processes) killed(pid);
  }

  #cannotStart(error: NodeJS.ErrnoException): Error {
    const { command, cwd } = this.#options;
    let why = error.message;
    if (error.code === 'ENOENT')
      why = cwd !== undefined && !existsSync(cwd) ? `there is no directory ${cwd}` : 'command not found';
    if (error.code === 'EACCES') why = 'it is not executable';
    return new Error(`Cannot start ${command}: ${why}`, { cause: error });
  }

  #watch(child: ChildProcess, stderr: string): void {
    this.#child = child;
    const group = this.#group;
    const { stdin, stdout } = child;
    if (!stdin || !stdout || !group) throw new TypeError('The child has no pipes');

    this.#exited = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        this.#exit = { code, signal };
        resolve();
        this.#guard(() => this.onexit?.({ code, signal }));
      });
      // On Windows, a command that does not exist shows only when the shell that looked for it has exited.
      child.on('error', (error) => {
        this.#report(error);
        if (child.exitCode === null) return;
        this.#exit ??= { code: child.exitCode, signal: null };
        resolve();
      });
    });
    const closed = new Promise<void>((resolve) => void child.once('close', () => resolve()));
    this.#gone = this.#exited.then(async () => {
      this.#unwatch?.();
      await group.endSurvivors(this.#killTimeout);
      group.forget();
      watchdog.forget(group.pid);
      // A process that has left the group may hold the pipes open for good.
      if (await within(closed, this.#stopTimeout)) return;
      stdout.destroy();
      child.stderr?.destroy();
    });

    child.stderr?.on('data', (chunk: Buffer) => {
      this.#stderr.push(chunk);
      if (stderr === 'inherit' && !process.stderr.write(chunk)) {
        child.stderr?.pause();
        process.stderr.once('drain', () => child.stderr?.resume());
      }
    });
    child.stderr?.on('end', () => this.#stderr.end());
    child.stderr?.on('error', (error) => this.#report(error));

    const stream = new StreamTransport(stdout, stdin, {
      role: 'client',
      maxMessageBytes: this.#options.maxMessageBytes,
      maxPendingBytes: this.#options.maxPendingBytes,
      drainTimeout: this.#stopTimeout,
      release: () => {
        stdin.end();
        // A child that cannot write would not come to see that its stdin is closed.
        stdout.resume();
      },
    });
    stream.onmessage = (message, extra) => this.onmessage?.(message, extra);
    stream.onerror = (error) => this.#report(error);
    stream.onclose = () => void this.#shutDown();
    this.#stream = stream;
  }

  #shutDown(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    // At once: nothing is delivered from now on, not even from the same chunk.
    void this.#stream?.close();
    // Where it could not be started, its caller was told.
    await this.#starting?.catch(() => {});
    if (this.#stream && this.#group) await this.#endChild(this.#stream, this.#group);
    this.#guard(() => this.onclose?.());
  }

  async #endChild(stream: StreamTransport, group: ProcessGroup): Promise<void> {
    void stream.close();
    let signalled = false;
    if (!(await within(this.#exited, this.#stopTimeout))) {
      signalled = true;
      group.signal('SIGTERM');
      if (!(await within(this.#exited, this.#killTimeout))) {
        group.signal('SIGKILL');
        if (!(await within(this.#exited, LAST_WAIT)))
          return this.#report(new Error(`${this.#name} (process ${group.pid}) cannot be ended`));
      }
    }
    await this.#gone;
    await stream.close();
    if (this.#stopped) return;
    this.#reason = this.#whyOver(stream.closeReason, signalled);
    if (this.#reason !== stream.closeReason) this.#report(this.#reason);
  }

  #whyOver(broken: Error | undefined, signalled: boolean): Error {
    if (this.#exceeded) return this.#exceeded;
    if (broken && (signalled || broken instanceof InvalidMessage)) return broken;
    if (signalled || !this.#exit) return new Error(`${this.#name} closed its stdout`);
    const { code, signal } = this.#exit;
    const how = signal === null ? `exited with code ${code}` : `was killed by ${signal}`;
    const { lastLine: last, lastLines: stderr } = this.#stderr;
    return new ChildEnded(`${this.#name} ${how}`, last, stderr, { cause: broken });
  }

  #guard(callback: () => void): void {
    try {
      callback();
    } catch (error) {
      this.#report(error as Error);
    }
  }

  #report(error: Error): void {
    this.onerror?.(error);
  }
}

function killed(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It is gone.
  }
}

/** Whether something happens within so many milliseconds. */
async function within(event: Promise<unknown>, limit: number): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const expired = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, limit, false);
  });
  try {
    return await Promise.race([event.then(() => true), expired]);
  } finally {
    clearTimeout(timer);
  }
}
