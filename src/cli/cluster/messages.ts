/** What the parent gives each worker in its environment. */
export interface WorkerPlace {
  /** 1 for the first worker. A worker that replaces another one gets its number. */
  readonly number: number;
  /** Whether it tells the user what all workers have in common, such as the address. */
  readonly announces: boolean;
  /** The port that the worker must use. Undefined: that of the command line, which may be 0. */
  readonly port?: number | undefined;
  readonly stateKey: string;
}

/** The environment variable with the `WorkerPlace`, as JSON. */
export const WORKER_VARIABLE = 'EVERWIRE_WORKER';

/** What the parent sends to a worker. */
export type ParentMessage =
  | { readonly everwire: 'stop' }
  /** Asks for the metrics of the worker. */
  | { readonly everwire: 'read'; readonly id: number }
  /** The metrics of all workers that have answered, by their numbers. */
  | { readonly everwire: 'gathered'; readonly id: number; readonly pages: Readonly<Record<number, string>> };

/** What a worker sends to the parent. */
export type WorkerMessage =
  | { readonly everwire: 'listening'; readonly port: number }
  /** Asks for the metrics of all workers. */
  | { readonly everwire: 'gather'; readonly id: number }
  | { readonly everwire: 'metrics'; readonly id: number; readonly page: string };
