import { once } from 'node:events';
import type { Duplex, Readable, Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import spawn from 'cross-spawn';
import { ProcessGroup } from '../transport/stdio/process-group.ts';
import { usePlainWrite } from '../transport/plain-write.ts';
import { whyNotStarted } from '../transport/stdio/start-error.ts';
import { closeDescriptor } from './close-descriptor.ts';
import { printStatus } from './print-status.ts';
import { watchdog } from '../transport/stdio/watchdog.ts';

/** A command that runs in place of this process. */
export interface ThroughChild {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves when it has exited. */
  readonly exited: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  kill(signal: NodeJS.Signals): void;
  /** Kills it with all that it has started. */
  killAll(): void;
}

/** If processes that the command has left behind write nothing for this many milliseconds, they are not waited for. */
const SILENCE = 2000;

/**
 * Starts a command. It has its own process group, because a signal to the group of this process would reach it twice.
 *
 * @throws Error with a readable reason if it cannot be started.
 */
export async function startThrough(command: string, args: readonly string[]): Promise<ThroughChild> {
  watchdog.start(({ message }) => printStatus(`The watchdog of ${command} cannot run: ${message}`));
  const child = spawn(command, args, { stdio: 'pipe', detached: process.platform !== 'win32', windowsHide: true });
  if (child.pid !== undefined) watchdog.add(child.pid);
  let hasExited = false;
  const exited = new Promise<Awaited<ThroughChild['exited']>>((resolve) => {
    child.once('exit', (code, signal) => {
      hasExited = true;
      watchdog.forget(child.pid!);
      resolve({ code, signal });
    });
    // On Windows, a missing command is known only when the shell that looked for it has exited.
    child.on('error', (error) => {
      if (child.exitCode === null) return;
      hasExited = true;
      printStatus(`cannot start ${command}: ${whyNotStarted(error, command)}`);
      resolve({ code: child.exitCode, signal: null });
    });
  });
  try {
    await once(child, 'spawn');
  } catch (cause) {
    const why = whyNotStarted(cause as NodeJS.ErrnoException, command);
    throw new Error(`cannot start ${command}: ${why}`, { cause });
  }
  const { stdin, stdout, stderr } = child;
  const killAll = (): void => {
    const group = new ProcessGroup(child.pid!);
    group.signal('SIGKILL');
    group.forget();
  };
  return {
    ...{ stdin: stdin!, stdout: stdout!, stderr: stderr!, exited, killAll },
    kill: (signal) => {
      if (hasExited) return;
      try {
        // On Deno, what `child.kill` has sent would count as what ended the child.
        process.kill(child.pid!, signal);
      } catch {
        // It has just exited.
      }
    },
  };
}

/** What stdin and stdout pass on their way. */
export interface Gates {
  readonly toServer: { readonly stream: Duplex };
  readonly toClient: {
    readonly stream: Duplex;
    /** Lets everything go on that waits. */
    release(): void;
    oncut: (() => void) | undefined;
  };
}

/**
 * Passes everything between the streams of this process and those of a command, through gates. Resolves when both have
 * ended.
 */
export async function passThrough(
  { stdin, stdout, stderr, exited }: ThroughChild,
  { toServer, toClient }: Gates,
): Promise<void> {
  process.stdin.pipe(toServer.stream).pipe(stdin);
  const closeInput = (): void => {
    process.stdin.destroy();
    closeDescriptor(0);
  };
  // The command has closed its stdin, so who writes to this process must see that too.
  stdin.once('error', closeInput);
  // A connection that is lost is lost in both directions. To clients, it is the process: it ends as the command does.
  toClient.oncut = () => {
    stdin.off('error', closeInput);
    stdin.on('error', () => {});
    closeInput();
    stdin.end();
  };
  const outputs = [
    new Output([stdout, toClient.stream], process.stdout, () => closeDescriptor(1)),
    new Output([stderr], process.stderr),
  ];
  await exited;
  // Processes that it has left behind may keep its stdout open.
  toClient.release();
  await Promise.all(outputs.map((output) => output.end()));
}

/** An output of a command, which goes to one of this process. */
class Output {
  readonly #to: Writable;
  readonly #over: Promise<void>;
  #isOver = false;
  #chunks = 0;

  /**
   * @param from the output, and what it passes on its way.
   * @param onend called when everything was written.
   */
  constructor([from, gate]: readonly [Readable, Duplex?], to: Writable, onend = (): void => {}) {
    this.#to = to;
    usePlainWrite(to);
    from.on('data', () => (this.#chunks += 1));
    const last = gate ? from.pipe(gate) : from;
    last.pipe(to, { end: false });
    this.#over = new Promise((resolve) => {
      const over = (): void => {
        this.#isOver = true;
        resolve();
      };
      last.once('end', () => to.write('', () => (onend(), over())));
      // The reader has gone. The command must see that too.
      to.once('error', () => {
        from.destroy();
        over();
      });
    });
  }

  /** Resolves when everything was written that the command wrote. */
  async end(): Promise<void> {
    for (let before = -1; !this.#isOver;) {
      if (this.#chunks === before && this.#to.writableLength === 0) return;
      before = this.#chunks;
      await Promise.race([this.#over, pause(SILENCE, undefined, { ref: false })]);
    }
  }
}
