import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { basename } from 'node:path';
import spawn from 'cross-spawn';
import type { CommandTarget } from '../client/target.ts';
import { jsonIn } from '../jsonrpc/json-in.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { childEnvironment } from '../transport/stdio/child-environment.ts';
import { LineReader } from '../transport/stdio/lines.ts';
import { ProcessGroup } from '../transport/stdio/process-group.ts';
import { whyNotStarted } from '../transport/stdio/start-error.ts';
import { watchdog } from '../transport/stdio/watchdog.ts';
import { tapStreams } from '../transport/wiretap.ts';
import { News } from './news.ts';
import type { Marks } from './marks.ts';

/** The longest line of the server, in bytes. */
const MAX_LINE = 16 * 1024 * 1024;
/** How much of all messages is kept, in UTF-16 code units. Later ones are dropped, as if the server were silent. */
const MAX_SEEN = 32 * 1024 * 1024;
/** How long the server may take to exit after its stdin has closed, and again after SIGTERM. Milliseconds. */
const GRACE = 1000;

/** A message of the server. */
export interface SeenMessage {
  readonly message: JsonObject;
  /** The number of its record. 0 if it is not known. */
  readonly n: number;
}

/** The server as a child process, whose stdin gets exactly the bytes that a probe wants. */
export class StdioChild {
  readonly #child: ChildProcess;
  readonly #group: ProcessGroup;
  readonly #marks: Marks;
  readonly #news = new News();
  readonly #seen: SeenMessage[] = [];
  /** The length of the lines with these messages. */
  #seenLength = 0;
  #hasExited = false;
  #hasEnded = false;

  private constructor(child: ChildProcess, marks: Marks, name: string) {
    this.#child = child;
    this.#marks = marks;
    const pid = child.pid!;
    this.#group = new ProcessGroup(pid);
    watchdog.add(pid);
    const { stdin, stdout, stderr } = child;
    const untap = tapStreams(
      marks.probing,
      { protocol: 'stdio', role: 'client', peer: name },
      { input: stdout!, output: stdin!, stderr },
    );
    const connection = marks.connection;
    const texts: string[] = [];
    let seen = marks.newest;
    const lines = new LineReader(
      { line: (text) => texts.push(text), invalidUtf8: () => {}, tooLong: () => {} },
      MAX_LINE,
    );
    // One chunk may have several lines, whose records all exist before the first is read.
    const take = (): void => {
      const values = texts.splice(0).map((text) => [jsonIn(text), text.length] as const);
      const messages = values.filter(([value]) => value !== undefined);
      const numbers = marks.messagesAfter(seen, connection);
      const { newest } = marks;
      seen = newest;
      const isKnown = numbers.length === messages.length;
      for (const [index, [value, length]] of messages.entries())
        this.#take(value, length, isKnown ? numbers[index]! : 0);
    };
    stdout!.on('data', (chunk: Buffer) => {
      lines.push(chunk);
      take();
      this.#news.wake();
    });
    stdout!.on('end', () => {
      lines.end();
      take();
      this.#hasEnded = true;
      this.#news.wake();
    });
    // Who writes to a server that has gone sees that by its exit.
    for (const stream of [stdin!, stdout!, stderr!]) stream.on('error', () => {});
    child.once('exit', () => {
      this.#hasExited = true;
      this.#news.wake();
    });
    child.once('close', untap);
    child.on('error', () => {});
  }

  /** @throws Error with a readable reason if the command cannot be started. */
  static async start({ command, args = [], env, cwd }: CommandTarget, marks: Marks): Promise<StdioChild> {
    watchdog.start(() => {});
    const child = spawn(command, args, {
      stdio: 'pipe',
      env: childEnvironment(env),
      cwd,
      detached: process.platform !== 'win32',
      windowsHide: true,
    });
    try {
      await once(child, 'spawn');
    } catch (cause) {
      const why = whyNotStarted(cause as NodeJS.ErrnoException, command, cwd);
      throw new Error(`Cannot start ${command}: ${why}`, { cause });
    }
    const started = new StdioChild(child, marks, basename(command));
    // Read, because a full pipe would block the server.
    child.stderr!.resume();
    return started;
  }

  get hasExited(): boolean {
    return this.#hasExited;
  }

  /** All messages so far. */
  get seen(): readonly SeenMessage[] {
    return this.#seen;
  }

  /** @returns the number of the record that shows it. 0 if it waits for earlier bytes, and so is not known yet. */
  write(bytes: string | Uint8Array): number {
    const before = this.#marks.newest;
    this.#child.stdin!.write(bytes);
    const after = this.#marks.newest;
    return after > before ? after : 0;
  }

  /** Closes the server's stdin. */
  end(): void {
    this.#child.stdin!.end();
  }

  /** The first message that fits. Undefined if none comes in time, or the server has ended. */
  async find(
    fits: (message: JsonObject) => boolean,
    patience: number,
    signal: AbortSignal,
  ): Promise<SeenMessage | undefined> {
    let found: SeenMessage | undefined;
    let next = 0;
    const isReached = (): boolean => {
      for (; !found && next < this.#seen.length; next += 1) {
        const seen = this.#seen[next]!;
        if (fits(seen.message)) found = seen;
      }
      return found !== undefined || this.#hasEnded;
    };
    await this.#news.until(isReached, patience, signal);
    return found;
  }

  /** Waits until the server has exited. Returns whether it has. */
  async exit(patience: number, signal: AbortSignal): Promise<boolean> {
    await this.#news.until(() => this.#hasExited && this.#hasEnded, patience, signal);
    return this.#hasExited;
  }

  /** Ends the server and all its descendants. */
  async close(): Promise<void> {
    this.end();
    const { signal } = new AbortController();
    if (!(await this.exit(GRACE, signal))) {
      this.#group.signal('SIGTERM');
      if (!(await this.exit(GRACE, signal))) this.#group.signal('SIGKILL');
    }
    await this.exit(GRACE, signal);
    await this.#group.endSurvivors(GRACE);
    this.#group.forget();
    watchdog.forget(this.#group.pid);
    this.#child.stdout!.destroy();
    this.#child.stderr!.destroy();
  }

  #take(value: unknown, length: number, n: number): void {
    this.#seenLength += length;
    if (this.#seenLength > MAX_SEEN) return;
    for (const message of [value].flat()) {
      if (!isObject(message)) continue;
      this.#seen.push({ message, n });
      // A server that gets no answer to its ping may end the connection.
      if (message['method'] === 'ping' && message['id'] !== undefined)
        this.write(`${JSON.stringify({ jsonrpc: '2.0', id: message['id'], result: {} })}\n`);
    }
  }
}
