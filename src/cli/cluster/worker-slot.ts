import { fork, type ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import { WORKER_VARIABLE, type ParentMessage, type WorkerMessage, type WorkerPlace } from './messages.ts';
import { passWholeLines } from './whole-lines.ts';

/** How a worker ended: the code or the signal. */
export interface WorkerEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Why there was no process. Undefined if there was one. */
  readonly notStarted?: string | undefined;
}

export interface WorkerSlotOptions {
  readonly onmessage: (message: WorkerMessage) => void;
  readonly onend: (end: WorkerEnd) => void;
}

/** The first pause before a worker is replaced, and the longest one. A worker that ran for longer is replaced at once. */
const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 10_000;

/** A place for a worker. At most one process has it at a time. */
export class WorkerSlot {
  readonly number: number;
  /** Whether its worker accepts connections. */
  listening = false;
  readonly #options: WorkerSlotOptions;
  #worker: ChildProcess | undefined;
  #startedAt = 0;
  /** How often in a row its worker ended soon. */
  #failures = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(number: number, options: WorkerSlotOptions) {
    this.number = number;
    this.#options = options;
  }

  get occupied(): boolean {
    return this.#worker !== undefined;
  }

  start(place: Omit<WorkerPlace, 'number'>): void {
    // Not on the command line, which other users of the machine can read.
    const variables = { [WORKER_VARIABLE]: JSON.stringify({ ...place, number: this.number }) };
    const worker = fork(process.argv[1]!, process.argv.slice(2), {
      env: { ...process.env, ...variables },
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    });
    this.#worker = worker;
    this.#startedAt = performance.now();
    let notStarted: string | undefined;
    // Without a free file descriptor, there is no stderr.
    if (worker.stderr) passWholeLines(worker.stderr, process.stderr);
    worker.on('error', ({ message }: Error) => {
      // What cannot be sent was for a worker that is about to end.
      if (worker.pid === undefined) notStarted = message;
    });
    worker.on('message', (message) => this.#options.onmessage(message as WorkerMessage));
    // It comes after all that the worker has written.
    worker.once('close', (code, signal) => {
      this.#worker = undefined;
      this.listening = false;
      this.#options.onend({ code, signal, notStarted });
    });
  }

  /** Calls back after a pause, which grows while workers end soon. */
  startLater(start: () => void): void {
    const soon = performance.now() - this.#startedAt < LONGEST_PAUSE;
    this.#failures = soon ? this.#failures + 1 : 0;
    const pause = soon ? Math.min(FIRST_PAUSE * 2 ** (this.#failures - 1), LONGEST_PAUSE) : 0;
    this.#timer = setTimeout(start, pause);
  }

  send(message: ParentMessage): void {
    if (this.#worker?.connected) this.#worker.send(message);
  }

  /** Gives the worker a connection. This process keeps it open, too. */
  pass(socket: Socket): void {
    if (this.#worker?.connected) this.#worker.send({ everwire: 'connection' }, socket, { keepOpen: true });
  }

  /** Lets the worker finish what it does. No other one starts. */
  stop(): void {
    clearTimeout(this.#timer);
    this.send({ everwire: 'stop' });
  }

  /** Ends the worker at once. */
  kill(): void {
    this.#worker?.kill('SIGKILL');
  }
}
