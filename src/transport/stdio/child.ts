import type { ChildProcess } from 'node:child_process';
import { basename } from 'node:path';
import type { Readable } from 'node:stream';
import spawn from 'cross-spawn';
import { FewPerTurn } from '../../base/few-per-turn.ts';
import { printable } from '../../base/printable.ts';
import { waitFor } from '../../base/wait.ts';
import { ErrorCode } from '../../jsonrpc/errors.ts';
import type { Message } from '../../jsonrpc/message.ts';
import { InvalidMessage } from '../../jsonrpc/parse.ts';
import { guarded } from '../../jsonrpc/stderr-report.ts';
import { BaseTransport } from '../base-transport.ts';
import type { SendOptions, Transport } from '../transport.ts';
import { tapStreams, type Wiretap } from '../wiretap.ts';
import { childEnvironment } from './child-environment.ts';
import { watchMemory } from './memory-watch.ts';
import { notSent } from './outgoing.ts';
import { passOnToStderr } from './pass-on-stderr.ts';
import { ProcessGroup } from './process-group.ts';
import { whyNotStarted } from './start-error.ts';
import { StderrLog } from './stderr-log.ts';
import { StreamTransport } from './stream.ts';
import { watchdog } from './watchdog.ts';

/** The command to start, and its limits. */
export interface ChildOptions {
  /** A path, or a name that is looked up in `PATH`. No shell interprets it. */
  readonly command: string;
  /** Default none. */
  readonly args?: readonly string[] | undefined;
  /** What errors call the child. Default: the file name of the command. */
  readonly name?: string | undefined;
  /**
   * Environment variables for the child, in addition to those of this process. An undefined value removes a variable.
   */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The child's working directory. Default: this process's. */
  readonly cwd?: string | undefined;
  /**
   * Where the child's stderr goes: to this process's stderr, to memory (only its tail), or nowhere. Default `inherit`,
   * or `capture` if `onstderr` is given.
   */
  readonly stderr?: 'inherit' | 'capture' | 'ignore' | undefined;
  /** Called with each line that the child writes to stderr. */
  readonly onstderr?: ((line: string, child: ChildTransport) => void) | undefined;
  /** The largest message from the child, in bytes. Default 16 MiB. */
  readonly maxMessageBytes?: number | undefined;
  /** The most bytes that may wait for a child that does not read. Beyond it `send` rejects. Default 64 MiB. */
  readonly maxPendingBytes?: number | undefined;
  /** How long the child may take to exit after its stdin is closed, before SIGTERM. Milliseconds, default 2 000. */
  readonly stopTimeout?: number | undefined;
  /** How long it may take after SIGTERM, before SIGKILL. Milliseconds, default the same as `stopTimeout`. */
  readonly killTimeout?: number | undefined;
  /**
   * The most resident memory of the child and all its descendants, in bytes. Shared memory counts for each process.
   * Measured every two seconds. Above the limit they are killed, and `closeReason` says so. Not enforced on Windows,
   * which is reported. Default: no limit.
   */
  readonly maxMemory?: number | undefined;
  /**
   * Whether the child also ends if this process is killed (SIGKILL). A shell watches all such children. It gives them
   * two seconds after stdin has closed, then sends SIGTERM, then SIGKILL. Not on Windows, nor without `/bin/sh`.
   * Default false.
   */
  readonly watchdog?: boolean | undefined;
  /** Sees the bytes of the child's stdin, stdout and stderr. Default none. */
  readonly wiretap?: Wiretap | undefined;
}

/** How a process ended. */
export interface ChildExit {
  /** Null if a signal ended it. */
  readonly code: number | null;
  /** Null if it exited by itself. */
  readonly signal: NodeJS.Signals | null;
}

/** What Node and Python print if there is no such script or module. */
const NOT_LOADED =
  /^(?:Error(?: \[\w+\])?: Cannot find (?:module|package) |ModuleNotFoundError: |.*: can't open file )/;

/** The child has exited by itself, or closed its stdin or stdout. */
class ChildEnded extends Error {
  override readonly name = 'ChildEnded';
  /** The last lines of its stderr, as many as fit into a message. Empty if there are none. */
  readonly stderr: string;
  /** The message without the child's output. */
  readonly summary: string;
  /** Whether the program could not be loaded, so that starting it again is of no use. */
  readonly notLoaded: boolean;

  constructor(summary: string, last: string | undefined, stderr: string, options?: ErrorOptions) {
    // Escaped here, so that errors which quote this one contain the same text.
    super(last === undefined ? summary : `${summary}: ${printable(last)}`, options);
    this.summary = summary;
    this.notLoaded = last !== undefined && NOT_LOADED.test(last);
    this.stderr = printable(stderr);
  }
}

/**
 * How long calls in flight wait for the exit code and the last output, once the child has exited or closed its stdout.
 * Milliseconds. The wait is short unless another process holds the child's pipes open. It begins anew while what was read
 * waits for a turn of the event loop.
 */
const LAST_OUTPUT_WAIT = 500;
/** How long to wait for a process after SIGKILL. Milliseconds. Only a process stuck in the kernel takes longer. */
const LAST_WAIT = 5000;
const MEBIBYTE = 1024 * 1024;
/** Starting a process blocks the event loop until the system has loaded the command: often for 5 ms, under load for 50. */
const starts = new FewPerTurn(1);

/** Starts a stdio server as a child process: the client's end of stdio (2025-11-25, basic/transports: stdio). */
export function childTransport(options: ChildOptions): ChildTransport {
  return new ChildTransport(options);
}

/**
 * A connection that lives as long as the child: `start` spawns it, `close` ends it and all its descendants. If the
 * child exits by itself, its remaining output is delivered, and `closeReason` is set before `onclose` is called.
 *
 * If the child closes its stdout or leaves processes behind, `onclose` does not wait until they are ended; `close` does.
 */
export class ChildTransport extends BaseTransport implements Transport {
  /** Called when the child has exited. Its output may not be fully read yet. */
  onexit: ((exit: ChildExit) => void) | undefined;
  readonly #options: ChildOptions;
  readonly #name: string;
  readonly #stopTimeout: number;
  readonly #killTimeout: number;
  readonly #stderr: StderrLog;
  #child: ChildProcess | undefined;
  #answered = false;
  #group: ProcessGroup | undefined;
  #stream: StreamTransport | undefined;
  #starting: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  #exit: ChildExit | undefined;
  #exited = Promise.resolve();
  #gone = Promise.resolve();
  /** The child has exited, and all its output is read. */
  #closed = Promise.resolve();
  #completed: Promise<void> | undefined;
  #stopped = false;
  #signalled = false;
  /** Stops measuring the memory. */
  #unwatch: (() => void) | undefined;
  /** Why the child was killed, if `close` did not do it. */
  #exceeded: Error | undefined;
  #reason: Error | undefined;

  /** @throws TypeError if `maxMemory` is not a positive number. */
  constructor(options: ChildOptions) {
    super();
    const { maxMemory } = options;
    if (maxMemory !== undefined && !(maxMemory > 0)) throw new TypeError('maxMemory must be a number of bytes');
    this.#options = options;
    this.#name = options.name ?? basename(options.command);
    this.#stopTimeout = options.stopTimeout ?? 2000;
    this.#killTimeout = options.killTimeout ?? this.#stopTimeout;
    const { onstderr } = options;
    const failed = (error: Error): void => this.onerror?.(error);
    this.#stderr = new StderrLog(onstderr && guarded((line: string) => onstderr(line, this), failed));
  }

  /** The process id of the child. Undefined before `start`. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** How the child ended. Undefined while it runs. */
  get exit(): ChildExit | undefined {
    return this.#exit;
  }

  /** Whether the child has sent a message. */
  get answered(): boolean {
    return this.#answered;
  }

  /** About the last 8 kB of the child's stderr. Empty if stderr is ignored. */
  get stderrTail(): string {
    return this.#stderr.tail;
  }

  /** Why the connection closed, if `close` did not close it. Set before `onclose` is called. */
  get closeReason(): Error | undefined {
    return this.#reason;
  }

  /**
   * Starts the child. Resolves when it runs.
   *
   * @throws if the command cannot be started, with a readable reason.
   */
  start(): Promise<void> {
    if (this.#starting || this.#closing) {
      return Promise.reject(
        new Error(this.#closing ? 'The connection is closed' : 'The transport has already been started'),
      );
    }
    this.#starting = this.#start();
    return this.#starting;
  }

  send(message: Message, options?: SendOptions): Promise<void> {
    const stream = this.#stream;
    if (this.#reason)
      return Promise.reject(
        notSent(new Error(`The connection is closed: ${this.#reason.message}`, { cause: this.#reason })),
      );
    if (!stream) return Promise.reject(new Error('The transport is not started'));
    return stream.send(message, options);
  }

  /**
   * Writes bytes to the child's stdin as they are, between two messages.
   *
   * @internal
   * @throws Error if the child does not run.
   */
  async writeBytes(bytes: Uint8Array): Promise<void> {
    const stdin = this.#child?.stdin;
    if (!stdin?.writable) throw new Error('The connection is closed');
    await new Promise<void>((resolve, reject) => {
      stdin.write(bytes, (error) => (error ? reject(error) : resolve()));
    });
  }

  setProtocolVersion(version: string): void {
    this.#stream?.setProtocolVersion(version);
  }

  /**
   * Closes the child's stdin, then ends it with SIGTERM and SIGKILL if it does not exit by itself (2025-11-25,
   * basic/lifecycle: Shutdown, stdio). Resolves when it and all its descendants are gone.
   */
  close(): Promise<void> {
    if (!this.#closing) this.#stopped = true;
    return this.#shutDown();
  }

  async #start(): Promise<void> {
    const { command, cwd, stderr = this.#options.onstderr ? 'capture' : 'inherit' } = this.#options;
    let child: ChildProcess | undefined;
    try {
      // It may be closed before its turn.
      child = await new Promise((resolve) =>
        starts.run(() => resolve(this.#closing ? undefined : this.#spawn(stderr))),
      );
    } catch (error) {
      const why = whyNotStarted(error as NodeJS.ErrnoException, command, cwd);
      this.#reason = new Error(`Cannot start ${command}: ${why}`, { cause: error });
      throw this.#reason;
    }
    if (!child) throw new Error('The connection is closed');
    this.#watch(child, stderr);
    return this.#stream?.start();
  }

  async #spawn(stderr: string): Promise<ChildProcess> {
    const { command, args = [], env, cwd, watchdog: watched } = this.#options;
    const onerror = ({ message }: Error): void =>
      this.report(new Error(`The watchdog of ${this.#name} cannot run: ${message}`));
    if (watched) watchdog.start(onerror);
    const child = spawn(command, args, {
      stdio: ['pipe', 'pipe', stderr === 'ignore' ? 'ignore' : 'pipe'],
      env: childEnvironment(env),
      cwd,
      // Its own process group, so that its descendants can be ended with it. On Windows this would open a window.
      detached: process.platform !== 'win32',
      windowsHide: true,
    });
    // Set before the child runs, because this process may be told to end meanwhile.
    if (child.pid !== undefined) this.#group = this.#guarded(child.pid);
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    return child;
  }

  #guarded(pid: number): ProcessGroup {
    const { maxMemory: limit, watchdog: watched } = this.#options;
    if (watched) watchdog.add(pid);
    if (limit !== undefined) {
      const onexceeded = (used: number, processes: readonly number[]): void => this.#exceed(used, limit, processes);
      let reported = false;
      const onerror = (error: Error): void => {
        if (!reported) this.report(new Error(`The memory of ${this.#name} is not limited: ${error.message}`));
        reported = true;
      };
      this.#unwatch = watchMemory({ pid, limit, onexceeded, onerror });
    }
    return new ProcessGroup(pid);
  }

  #exceed(used: number, limit: number, processes: readonly number[]): void {
    const [usedText, limitText] = [used, limit].map((bytes) => `${Math.ceil(bytes / MEBIBYTE)} MiB`);
    this.#exceeded = new Error(
      `${this.#name} was stopped: it used ${usedText} of memory, and the limit is ${limitText}`,
    );
    this.#group?.signal('SIGKILL');
    // Some processes may have left the group.
    for (const pid of processes) kill(pid);
  }

  #watch(child: ChildProcess, stderr: string): void {
    this.#child = child;
    const group = this.#group;
    const { stdin, stdout } = child;
    if (!stdin || !stdout || !group) throw new TypeError('The child process has no pipes');

    this.#exited = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        this.#exit = { code, signal };
        resolve();
        this.guard(() => this.onexit?.({ code, signal }));
      });
      // On Windows, a missing command is known only when the shell that looked for it has exited.
      child.on('error', (error) => {
        if (child.exitCode === null) return this.report(error);
        const why = whyNotStarted(error, this.#options.command, this.#options.cwd);
        this.report(new Error(`Cannot start ${this.#options.command}: ${why}`, { cause: error }));
        this.#exit ??= { code: child.exitCode, signal: null };
        resolve();
      });
    });
    const closed = new Promise<void>((resolve) => void child.once('close', () => resolve()));
    this.#closed = closed;
    void this.#exited.then(() => this.#complete()).then(() => this.#shutDown());
    const { wiretap } = this.#options;
    if (wiretap) {
      const streams = { input: stdout, output: stdin, stderr: child.stderr };
      void closed.then(tapStreams(wiretap, { protocol: 'stdio', role: 'client', peer: this.#name }, streams));
    }
    this.#gone = this.#exited.then(async () => {
      this.#unwatch?.();
      await group.endSurvivors(this.#killTimeout);
      group.forget();
      watchdog.forget(group.pid);
      // A process that has left the group may keep the pipes open without limit.
      if (await within(closed, this.#stopTimeout)) return;
      stdout.destroy();
      child.stderr?.destroy();
    });

    if (child.stderr) this.#readStderr(child.stderr);
    if (child.stderr && stderr === 'inherit') passOnToStderr(child.stderr, child);

    const stream = new StreamTransport(stdout, stdin, {
      role: 'client',
      maxMessageBytes: this.#options.maxMessageBytes,
      maxPendingBytes: this.#options.maxPendingBytes,
      drainTimeout: this.#stopTimeout,
      release: () => {
        stdin.end();
        // A child that is blocked in a write would never notice that its stdin is closed.
        stdout.resume();
      },
    });
    stream.onmessage = (message, extra) => {
      this.#answered = true;
      this.onmessage?.(message, extra);
    };
    stream.onerror = (error) => {
      const noise = error instanceof InvalidMessage && error !== stream.closeReason;
      if (!noise) return this.report(error);
      const advice = error.code === ErrorCode.ParseError ? '. Only messages may go to stdout; logs go to stderr' : '';
      this.report(new Error(`${this.#name} wrote to its stdout: ${error.message}${advice}`, { cause: error }));
    };
    stream.onclose = () => void this.#shutDown();
    this.#stream = stream;
  }

  #readStderr(stream: Readable): void {
    stream.on('data', (chunk: Buffer) => this.#stderr.push(chunk));
    stream.on('end', () => this.#stderr.end());
    stream.on('error', (error) => this.report(error));
  }

  #shutDown(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    // Closed first, so that nothing more is delivered, not even from the same chunk.
    void this.#stream?.close();
    // If the child could not be started, the caller already knows.
    await this.#starting?.catch(() => {});
    const ended = this.#stream && this.#group && this.#endChild(this.#stream, this.#group);
    if (this.#stopped) await ended;
    else if (this.#stream) await this.#explain(this.#stream);
    this.guard(() => this.onclose?.());
    await ended;
  }

  /**
   * Waits for the last output of the child, but not long: the child may live on, or leave processes that hold its
   * pipes. What was read is always delivered.
   */
  #complete(): Promise<void> {
    this.#completed ??= (async () => {
      let turn: Promise<void> | undefined;
      do {
        await within(this.#closed, LAST_OUTPUT_WAIT);
        turn = this.#stream?.turn;
        await turn;
      } while (turn);
    })();
    return this.#completed;
  }

  async #explain(stream: StreamTransport): Promise<void> {
    await this.#complete();
    this.#reason = this.#findReason(stream.closeReason);
    if (this.#reason !== stream.closeReason) this.report(this.#reason);
  }

  async #endChild(stream: StreamTransport, group: ProcessGroup): Promise<void> {
    void stream.close();
    if (!(await within(this.#exited, this.#stopTimeout))) {
      this.#signalled = true;
      group.signal('SIGTERM');
      if (!(await within(this.#exited, this.#killTimeout))) {
        group.signal('SIGKILL');
        if (!(await within(this.#exited, LAST_WAIT)))
          return this.report(new Error(`${this.#name} (process ${group.pid}) cannot be stopped`));
      }
    }
    await this.#gone;
    await stream.close();
  }

  #findReason(broken: Error | undefined): Error {
    if (this.#exceeded) return this.#exceeded;
    const exit = this.#signalled ? undefined : this.#exit;
    const closedStdin = broken !== undefined && 'code' in broken && broken.code === 'EPIPE';
    if (broken && !closedStdin && (!exit || broken instanceof InvalidMessage)) return broken;
    let how = closedStdin ? 'closed its stdin' : 'closed its stdout';
    if (exit) how = exit.signal === null ? `exited with code ${exit.code}` : `was killed by ${exit.signal}`;
    const { lastLine: last, lastLines: stderr } = this.#stderr;
    return new ChildEnded(`${this.#name} ${how}`, last, stderr, { cause: broken });
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It is gone.
  }
}

/** Whether an event happens within this many milliseconds. */
function within(event: Promise<unknown>, limit: number): Promise<boolean> {
  return waitFor(event, { timeout: Math.max(1, limit) }).then(
    () => true,
    () => false,
  );
}
