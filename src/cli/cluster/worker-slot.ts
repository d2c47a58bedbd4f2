import cluster, { type Worker } from 'node:cluster';
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
  /** The port that its worker was given. Undefined if that is the one of the options. */
  port: number | undefined;
  readonly #options: WorkerSlotOptions;
  #worker: Worker | undefined;
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
    this.port = place.port;
    // Not on the command line, which other users of the machine can read.
    const worker = cluster.fork({ [WORKER_VARIABLE]: JSON.stringify({ ...place, number: this.number }) });
    this.#worker = worker;
    this.#startedAt = performance.now();
    let notStarted: string | undefined;
    // Without a free file descriptor, there is no stderr.
    if (worker.process.stderr) passWholeLines(worker.process.stderr, process.stderr);
    worker.on('error', ({ message }: Error) => {
      // What cannot be sent was for a worker that is about to end.
      if (worker.process.pid === undefined) notStarted = message;
    });
    worker.on('message', (message: WorkerMessage) => this.#options.onmessage(message));
    // It comes after all that the worker has written.
    worker.process.once('close', (code, signal) => {
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
    if (this.#worker?.isConnected()) this.#worker.send(message);
  }

  /** Lets the worker finish what it does. No other one starts. */
  stop(): void {
    clearTimeout(this.#timer);
    this.send({ everwire: 'stop' });
  }

  /** Ends the worker at once. */
  kill(): void {
    this.#worker?.process.kill('SIGKILL');
  }
}
