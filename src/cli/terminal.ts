import { createInterface, type Interface } from 'node:readline';
import type { LogMessage } from '../client/handlers.ts';
import type { Task } from '../protocol/tasks.ts';
import type { Person } from './person.ts';
import { ProgressBar, type Progress } from './progress-bar.ts';
import { shown } from './say.ts';
import { oneLine, wordsOf } from './screen.ts';

type Input = NodeJS.ReadableStream & { readonly isTTY?: boolean };
type Screen = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };

/**
 * What stands beside a result: the log of the server, progress, and questions. All of it is on stderr, so that stdout has
 * the result alone.
 */
export class Terminal implements Person {
  /** Whether there is a person who can be asked. */
  readonly interactive: boolean;
  /** Whether there is one who reads. */
  readonly watched: boolean;
  readonly #input: Input;
  readonly #screen: Screen;
  readonly #bar: ProgressBar;
  #reader: Interface | undefined;
  /** What was typed before it was asked for. */
  #typed: string[] = [];
  /** Takes the next line. */
  #waiting: ((line: string | undefined) => void) | undefined;
  #turn: Promise<unknown> = Promise.resolve();
  #asking = false;

  constructor(input: Input = process.stdin, screen: Screen = process.stderr) {
    this.#input = input;
    this.#screen = screen;
    this.#bar = new ProgressBar(screen);
    this.watched = screen.isTTY ?? false;
    this.interactive = this.watched && (input.isTTY ?? false);
  }

  tell(line: string): void {
    const safe = shown(line);
    this.#bar.around(() => this.#screen.write(`${safe}\n`));
  }

  progress(progress: Progress): void {
    // A bar would be drawn over what the person is typing.
    if (!this.#asking) this.#bar.show(progress);
  }

  /** How a call stands that has become a task. */
  status({ status, statusMessage }: Pick<Task, 'status' | 'statusMessage'>): void {
    if (!this.#asking) this.#bar.status(statusMessage ?? status);
  }

  /** The call whose progress it was is over. */
  done(): void {
    this.#bar.clear();
  }

  log({ level, logger, data }: LogMessage): void {
    const from = logger === undefined ? '' : ` ${wordsOf(logger)}:`;
    this.tell(oneLine(`[${wordsOf(level)}]${from} ${wordsOf(data)}`));
  }

  /** Lets one question have the terminal at a time, however many there are. */
  exclusively<T>(question: () => Promise<T>): Promise<T> {
    const answer = this.#turn.then(async () => {
      this.#asking = true;
      this.#bar.clear();
      try {
        return await question();
      } finally {
        this.#asking = false;
      }
    });
    this.#turn = answer.catch(() => {});
    return answer;
  }

  ask(prompt: string, signal: AbortSignal): Promise<string | undefined> {
    if (signal.aborted) return Promise.reject(signal.reason);
    const typed = this.#typed.shift();
    if (typed !== undefined) return Promise.resolve(typed);
    return new Promise((resolve, reject) => {
      const taken = (): void => {
        this.#waiting = undefined;
        this.#reader?.pause();
        this.tell('\n(the question was taken back)');
        reject(signal.reason);
      };
      signal.addEventListener('abort', taken, { once: true });
      this.#waiting = (line) => {
        signal.removeEventListener('abort', taken);
        this.#waiting = undefined;
        this.#reader?.pause();
        resolve(line);
      };
      this.#reader ??= this.#open();
      this.#reader.setPrompt(shown(prompt));
      this.#reader.prompt();
    });
  }

  /** Lets go of stdin, which would keep the process. */
  close(): void {
    this.#bar.clear();
    this.#reader?.close();
  }

  #open(): Interface {
    const reader = createInterface({ input: this.#input, output: this.#screen });
    reader.on('line', (line) => {
      if (this.#waiting) this.#waiting(line);
      else this.#typed.push(line);
    });
    // The terminal is in raw mode while it is read from, in which Ctrl-C is a character like others.
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
