import { randomBytes } from 'node:crypto';
import { Deferred } from '../../base/deferred.ts';
import { atEnd, stop } from '../shutdown.ts';
import { Connections } from './connections.ts';
import type { WorkerMessage } from './messages.ts';
import { MetricsGathering } from './metrics-gathering.ts';
import { WorkerSlot, type WorkerEnd } from './worker-slot.ts';

export interface WorkersOptions {
  readonly count: number;
  readonly host: string;
  /** 0 selects a free one. */
  readonly port: number;
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
 *
 * @throws Error with a readable message if the address cannot be used.
 */
export async function startWorkers(options: WorkersOptions): Promise<void> {
  const connections = new Connections();
  const port = await connections.listen(options.host, options.port, ({ message }) => options.onwarning(message));
  const workers = new Workers({ ...options, port }, connections);
  atEnd(() => workers.stop());
  // After a second signal, and also if this process fails.
  process.on('exit', () => workers.kill());
  workers.start();
}

class Workers {
  readonly #connections: Connections;
  readonly #port: number;
  readonly #slots: readonly WorkerSlot[];
  readonly #stateKey: string;
  readonly #drainTimeout: number;
  readonly #onwarning: (message: string) => void;
  readonly #gathering: MetricsGathering;
  /** Whether the first worker has served. */
  #served = false;
  #stopped: Deferred | undefined;

  constructor({ count, port, stateKey, drainTimeout, onwarning }: WorkersOptions, connections: Connections) {
    this.#connections = connections;
    this.#port = port;
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
    slot.start({ announces, port: this.#port, stateKey: this.#stateKey });
  }

  #take(slot: WorkerSlot, message: WorkerMessage): void {
    switch (message.everwire) {
      case 'listening':
        this.#listening(slot);
        break;
      case 'taken':
        this.#connections.add(slot);
        break;
      case 'closed':
        this.#closed(slot);
        break;
      case 'gather':
        void this.#gathering.pages().then((pages) => slot.send({ everwire: 'gathered', id: message.id, pages }));
        break;
      case 'metrics':
        this.#gathering.take(slot, message.id, message.page);
    }
  }

  #listening(slot: WorkerSlot): void {
    slot.listening = true;
    this.#connections.add(slot);
    if (this.#served) return;
    this.#served = true;
    for (const other of this.#slots.slice(1)) this.#start(other);
  }

  #closed(slot: WorkerSlot): void {
    slot.listening = false;
    this.#connections.remove(slot);
    if (this.#stopped && !this.#slots.some(({ listening }) => listening)) this.#connections.close();
  }

  #ended(slot: WorkerSlot, end: WorkerEnd): void {
    this.#gathering.gone(slot);
    this.#closed(slot);
    if (this.#stopped) {
      if (end.code !== 0) process.exitCode = end.code ?? 1;
      return this.#checkStopped();
    }
    const { notStarted } = end;
    const how = end.signal ?? `code ${end.code}`;
    if (!this.#served) {
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
    // Connections that wait may have all file descriptors, and no worker could ever be started.
    if (notStarted !== undefined && this.#connections.closeWaiting()) this.#start(slot);
    else slot.startLater(() => this.#start(slot));
  }

  #checkStopped(): void {
    if (this.#slots.every(({ occupied }) => !occupied)) this.#stopped?.resolve();
  }
}
