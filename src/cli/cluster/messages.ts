/** What the parent gives each worker in its environment. */
export interface WorkerPlace {
  /** 1 for the first worker. A worker that replaces another one gets its number. */
  readonly number: number;
  /** Whether it tells the user what all workers have in common, such as the address. */
  readonly announces: boolean;
  /** The port at which the parent accepts connections. */
  readonly port: number;
  readonly stateKey: string;
}

/** The environment variable with the `WorkerPlace`, as JSON. */
export const WORKER_VARIABLE = 'EVERWIRE_WORKER';

/** What the parent sends to a worker. */
export type ParentMessage =
  | { readonly everwire: 'stop' }
  /** Comes with the socket of a connection. */
  | { readonly everwire: 'connection' }
  /** Asks for the metrics of the worker. */
  | { readonly everwire: 'read'; readonly id: number }
  /** The metrics of all workers that have answered, by their numbers. */
  | { readonly everwire: 'gathered'; readonly id: number; readonly pages: Readonly<Record<number, string>> };

/** What a worker sends to the parent. */
export type WorkerMessage =
  /** It can take connections. */
  | { readonly everwire: 'listening' }
  /** It has the connection that it was passed, and will read from it. */
  | { readonly everwire: 'taken' }
  /** It takes no more connections. Another worker must get the one that it was passed, if it has not confirmed that. */
  | { readonly everwire: 'closed' }
  /** Asks for the metrics of all workers. */
  | { readonly everwire: 'gather'; readonly id: number }
  | { readonly everwire: 'metrics'; readonly id: number; readonly page: string };
