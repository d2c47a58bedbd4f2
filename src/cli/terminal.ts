import { createInterface, type Interface } from 'node:readline';
import type { LogMessage, Progress } from '../client/handlers.ts';
import type { Task } from '../protocol/tasks.ts';
import { Deferred } from '../base/deferred.ts';
import { waitFor } from '../base/wait.ts';
import { printable } from '../base/printable.ts';
import type { LoginPrinter } from './browser-login.ts';
import type { Prompter } from './prompter.ts';
import { ProgressBar } from './progress-bar.ts';
import { shown } from './print-status.ts';
import { oneLine, wordsOf } from './screen.ts';

type Input = NodeJS.ReadableStream & { readonly isTTY?: boolean };
type Screen = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };

/**
 * Shows everything except the result: the server's log, progress, and questions. All of it goes to stderr, so that
 * stdout has only the result.
 */
export class Terminal implements Prompter {
  /** Whether there is a user who can be asked. */
  readonly interactive: boolean;
  /** Whether stderr is a terminal. */
  readonly watched: boolean;
  readonly #input: Input;
  readonly #screen: Screen;
  readonly #bar: ProgressBar;
  #reader: Interface | undefined;
  /** Lines that were typed before a question asked for them. */
  #typed: string[] = [];
  /** Called with the next line. */
  #waiting: ((line: string | undefined) => void) | undefined;
  /** The question that uses the terminal, and those that wait for it. */
  readonly #turns = new Set<Deferred>();

  constructor(input: Input = process.stdin, screen: Screen = process.stderr) {
    this.#input = input;
    this.#screen = screen;
    this.#bar = new ProgressBar(screen);
    this.watched = screen.isTTY ?? false;
    this.interactive = this.watched && (input.isTTY ?? false);
  }

  print(line: string): void {
    const safe = shown(line);
    this.#bar.around(() => this.#screen.write(`${safe}\n`));
  }

  /**
   * Prints a full URL on its own line. Nothing is removed from it: the browser gets the same URL. Use it only for URLs that
   * this process created.
   */
  address(line: string, { href }: URL): void {
    this.print(`${line}:`);
    this.#bar.around(() => this.#screen.write(`${printable(href)}\n`));
  }

  /** Shows the messages of a login. @param ask asks the user, if there is one who can type. */
  loginPrinter(ask?: LoginPrinter['ask']): LoginPrinter {
    return {
      print: (line) => this.print(line),
      address: (line, address) => this.address(line, address),
      ask: this.interactive ? ask : undefined,
    };
  }

  progress(progress: Progress): void {
    // A bar would overwrite what the user types.
    if (this.#turns.size === 0) this.#bar.show(progress);
  }

  /** Shows the status of a call that became a task. */
  status({ status, statusMessage }: Pick<Task, 'status' | 'statusMessage'>): void {
    if (this.#turns.size === 0) this.#bar.status(statusMessage ?? status);
  }

  /** Removes the progress bar after its call. */
  done(): void {
    this.#bar.clear();
  }

  /**
   * Questions use the terminal one at a time. One that is cancelled while it waits is not asked, and leaves nothing in
   * memory: a server may ask and cancel without end.
   */
  async exclusively<T>(question: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const turn = new Deferred();
    this.#turns.add(turn);
    try {
      if (this.#turns.size > 1) await waitFor(turn.promise, { signal });
      this.#bar.clear();
      return await question();
    } finally {
      this.#turns.delete(turn);
      const [next] = this.#turns;
      next?.resolve();
    }
  }

  /** @param cancelled printed if the signal fires first. */
  ask(
    prompt: string,
    signal: AbortSignal,
    cancelled = '\n(the server cancelled the question)',
  ): Promise<string | undefined> {
    if (signal.aborted) {
      this.#forgetTyped();
      return Promise.reject(signal.reason);
    }
    const typed = this.#typed.shift();
    if (typed !== undefined) return Promise.resolve(typed);
    return new Promise((resolve, reject) => {
      const cancel = (): void => {
        this.#waiting = undefined;
        this.#forgetTyped();
        this.print(cancelled);
        reject(signal.reason);
      };
      signal.addEventListener('abort', cancel, { once: true });
      this.#waiting = (line) => {
        signal.removeEventListener('abort', cancel);
        this.#waiting = undefined;
        this.#reader?.pause();
        resolve(line);
      };
      this.#reader ??= this.#open();
      this.#reader.setPrompt(shown(prompt));
      this.#reader.prompt();
    });
  }

  /** Stops reading stdin, so that the process can end. */
  close(): void {
    this.#bar.clear();
    this.#reader?.close();
  }

  /** What was typed for a cancelled question must not become an answer, or a part of one, to the next question. */
  #forgetTyped(): void {
    this.#typed = [];
    // Its line is lost with it. The next question opens another one.
    this.#reader?.close();
  }

  #open(): Interface {
    const reader = createInterface({ input: this.#input, output: this.#screen });
    reader.on('line', (line) => {
      if (this.#waiting) this.#waiting(line);
      else this.#typed.push(line);
    });
    // The terminal is in raw mode while a line is read, so Ctrl-C is an ordinary character.
    reader.on('SIGINT', () => process.emit('SIGINT'));
    reader.on('close', () => {
      this.#reader = undefined;
      if (!this.#waiting) return;
      this.#screen.write('\n');
      this.#waiting(undefined);
    });
    return reader;
  }
}

/** A log message of a server as one line. */
export function logLine({ level, logger, data }: LogMessage): string {
  const from = logger === undefined ? '' : ` ${wordsOf(logger)}:`;
  return oneLine(`[${wordsOf(level)}]${from} ${wordsOf(data)}`);
}
