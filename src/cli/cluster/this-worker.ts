import type { Socket } from 'node:net';
import type { AcceptedConnections } from '../../transport/http/server/socket-server.ts';
import { stop, stopOnlyOnce } from '../shutdown.ts';
import { joinMetrics } from './join-metrics.ts';
import { WORKER_VARIABLE, type ParentMessage, type WorkerMessage, type WorkerPlace } from './messages.ts';

/** This process as one of several that serve on one port. */
export class ThisWorker {
  readonly number: number;
  readonly announces: boolean;
  /** The connections that the parent has accepted. */
  readonly connections: AcceptedConnections;
  /** The same in all workers. */
  readonly stateKey: string;
  /** Reads the metrics of this process. Set if it has any. */
  readMetrics: () => Promise<string> = async () => '';
  readonly #gathering = new Map<number, (pages: Readonly<Record<number, string>>) => void>();
  #gathered = 0;
  #serve: ((socket: Socket) => void) | undefined;

  constructor({ number, announces, port, stateKey }: WorkerPlace) {
    this.number = number;
    this.announces = announces;
    this.connections = {
      port,
      start: (serve) => void (this.#serve = serve),
      end: () => {
        this.#serve = undefined;
        send({ everwire: 'closed' });
      },
    };
    this.stateKey = stateKey;
    // A terminal sends its signals to all processes, and the parent also tells this one to stop.
    stopOnlyOnce();
    process.on('message', (message, socket) => this.#take(message as ParentMessage, socket as Socket | undefined));
    process.once('disconnect', () => process.exit(0));
    // It may have ended before this process could listen.
    if (!process.connected) process.exit(0);
  }

  /** Tells the parent that clients can connect now. */
  listening(): void {
    send({ everwire: 'listening' });
  }

  /** The metrics of all workers. Each has the label `worker`. */
  async allMetrics(): Promise<string> {
    const id = (this.#gathered += 1);
    const pages = await new Promise<Readonly<Record<number, string>>>((resolve) => {
      this.#gathering.set(id, resolve);
      send({ everwire: 'gather', id });
    });
    return joinMetrics(pages);
  }

  #take(message: ParentMessage, socket: Socket | undefined): void {
    switch (message.everwire) {
      case 'stop':
        void stop();
        break;
      case 'connection':
        this.#connect(socket);
        break;
      case 'read':
        void this.#read(message.id);
        break;
      case 'gathered':
        this.#gathering.get(message.id)?.(message.pages);
        this.#gathering.delete(message.id);
    }
  }

  #connect(socket: Socket | undefined): void {
    const serve = this.#serve;
    // The parent passes it to another worker.
    if (!serve) return void socket?.destroy();
    // Once this process has read from it, no other one can serve it.
    send({ everwire: 'taken' }, () => socket && serve(socket));
  }

  async #read(id: number): Promise<void> {
    const page = await this.readMetrics().catch(() => '');
    send({ everwire: 'metrics', id, page });
  }
}

/** If the parent is gone, this process ends. */
function send(message: WorkerMessage, sent = (): void => {}): void {
  process.send?.(message, undefined, undefined, sent);
}

/** Set if a parent has started this process as one of its workers. */
export const thisWorker = readPlace();

/** Whether this process tells the user what all workers have in common. */
export const announces = thisWorker?.announces ?? true;

function readPlace(): ThisWorker | undefined {
  const place = process.env[WORKER_VARIABLE];
  if (place === undefined || !process.send) return undefined;
  // The commands that this process starts must not get it.
  delete process.env[WORKER_VARIABLE];
  return new ThisWorker(JSON.parse(place) as WorkerPlace);
}
