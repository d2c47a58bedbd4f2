import cluster from 'node:cluster';
import { randomBytes } from 'node:crypto';
import { Deferred } from '../../base/deferred.ts';
import { atEnd, stop } from '../shutdown.ts';
import type { WorkerMessage } from './messages.ts';
import { MetricsGathering } from './metrics-gathering.ts';
import { WorkerSlot, type WorkerEnd } from './worker-slot.ts';

export interface WorkersOptions {
  readonly count: number;
  /** The secret of all workers. Default: a new one. */
  readonly stateKey: string | undefined;
  /** How long requests in progress may take after a signal, in milliseconds. */
  readonly drainTimeout: number;
  readonly onwarning: (message: string) => void;
}

/**
 * How long a worker may take to end after its last request, in milliseconds. One that hangs never ends. Services of systemd
 * have ten seconds, see docs/operating.md.
 */
const END_TIMEOUT = 9000;

/**
 * Runs this command in several processes that share one port, until a signal ends them. Connections go to one after the
 * other. The first worker starts alone: if it fails, this process ends with its exit code. A worker that ends later is
 * replaced.
 */
export function startWorkers(options: WorkersOptions): void {
  // One after the other is not the default on Windows.
  cluster.schedulingPolicy = cluster.SCHED_RR;
  cluster.setupPrimary({ stdio: ['ignore', 'inherit', 'pipe', 'ipc'] });
  const workers = new Workers(options);
  atEnd(() => workers.stop());
  // After a second signal, and also if this process fails.
  process.on('exit', () => workers.kill());
  workers.start();
}

class Workers {
  readonly #slots: readonly WorkerSlot[];
  readonly #stateKey: string;
  readonly #drainTimeout: number;
  readonly #onwarning: (message: string) => void;
  readonly #gathering: MetricsGathering;
  /** The port in use. Undefined until the first worker listens. */
  #port: number | undefined;
  #stopped: Deferred | undefined;

  constructor({ count, stateKey, drainTimeout, onwarning }: WorkersOptions) {
    this.#stateKey = stateKey ?? randomBytes(32).toString('base64url');
    this.#drainTimeout = drainTimeout;
    this.#onwarning = onwarning;
    this.#slots = Array.from({ length: count }, (_, index): WorkerSlot => {
      const slot: WorkerSlot = new WorkerSlot(index + 1, {
        onmessage: (message) => this.#take(slot, message),
        onend: (end) => this.#ended(slot, end),
      });
      return slot;
    });
    this.#gathering = new MetricsGathering(this.#slots);
  }

  start(): void {
    this.#start(this.#slots[0]!, true);
  }

  /** Resolves when all workers have ended. Those that hang are killed. */
  async stop(): Promise<void> {
    this.#stopped = new Deferred();
    for (const slot of this.#slots) slot.stop();
    const timer = setTimeout(() => this.#killRest(), this.#drainTimeout + END_TIMEOUT);
    this.#checkStopped();
    await this.#stopped.promise;
    clearTimeout(timer);
  }

  #killRest(): void {
    for (const slot of this.#slots) {
      if (!slot.occupied) continue;
      this.#onwarning(`worker ${slot.number} did not end in time, so it was killed`);
      slot.kill();
    }
  }

  kill(): void {
    for (const slot of this.#slots) slot.kill();
  }

  #start(slot: WorkerSlot, announces = false): void {
    // Workers share a port only if all were given the same number: 0, or the port itself.
    const other = this.#slots.find(({ listening }) => listening);
    slot.start({ announces, port: other ? other.port : this.#port, stateKey: this.#stateKey });
  }

  #take(slot: WorkerSlot, message: WorkerMessage): void {
    switch (message.everwire) {
      case 'listening':
        this.#listening(slot, message.port);
        break;
      case 'gather':
        void this.#gathering.pages().then((pages) => slot.send({ everwire: 'gathered', id: message.id, pages }));
        break;
      case 'metrics':
        this.#gathering.take(slot, message.id, message.page);
    }
  }

  #listening(slot: WorkerSlot, port: number): void {
    slot.listening = true;
    if (this.#port === undefined) {
      this.#port = port;
      for (const other of this.#slots.slice(1)) this.#start(other);
    } else if (port !== this.#port) {
      // The last worker with the port ended while this one started, and nobody knows the new port.
      slot.kill();
    }
  }

  #ended(slot: WorkerSlot, end: WorkerEnd): void {
    this.#gathering.gone(slot);
    if (this.#stopped) {
      if (end.code !== 0) process.exitCode = end.code ?? 1;
      return this.#checkStopped();
    }
    const { notStarted } = end;
    const how = end.signal ?? `code ${end.code}`;
    if (this.#port === undefined) {
      // It has said why, unless it was killed.
      if (notStarted !== undefined) this.#onwarning(`the first worker cannot be started: ${notStarted}`);
      else if (end.signal) this.#onwarning(`the first worker ended with ${how} before it could serve`);
      process.exitCode = notStarted === undefined ? (end.code ?? 1) : 1;
      void stop();
      return;
    }
    this.#onwarning(
      notStarted === undefined
        ? `worker ${slot.number} ended with ${how}; another one replaces it`
        : `worker ${slot.number} cannot be started now: ${notStarted}`,
    );
    slot.startLater(() => this.#start(slot));
  }

  #checkStopped(): void {
    if (this.#slots.every(({ occupied }) => !occupied)) this.#stopped?.resolve();
  }
}
