import { NoShareRoom, ShareRoom } from '../base/share-room.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { isUnanswered, type Bus } from '../store/bus.ts';
import type { TaskRecord } from '../store/task-store.ts';
import { nodeOf } from './runner-names.ts';

/** The most requests for tasks of one principal, or for one task without a principal, that wait for other processes. */
const MAX_OF_ONE = 64;
/** The most bytes of their answers. A single one may be larger. */
const MAX_BYTES_OF_ONE = 2 * 1024 * 1024;

/** What only the runner of a task can do with it. */
export type TaskRequest = { readonly cancel: true } | { readonly inputResponses: JsonObject };

/**
 * Does what another process was asked to do with a task of a runner here.
 *
 * @returns whether the task runs here.
 * @throws RpcError (rejects) for the client.
 */
export type TaskTaker = (id: string, principal: string | undefined, request: TaskRequest) => Promise<boolean>;

/**
 * Waits for the next change of a task of a runner here.
 *
 * @param seen how many changes the other process knows. Undefined if it wants to know how many there are.
 * @returns how many changes there are, or that nothing more will change.
 */
export type ChangeReader = (
  id: string,
  principal: string | undefined,
  seen: number | undefined,
  signal: AbortSignal,
) => Promise<number | 'over'>;

/** The runners of tasks in other processes. They do what only they can do. */
export class OtherRunners {
  readonly #bus: Bus;
  readonly #isAlive: (runner: string) => Promise<boolean>;
  readonly #room = new ShareRoom(MAX_OF_ONE, MAX_BYTES_OF_ONE);

  constructor(bus: Bus, isAlive: (runner: string) => Promise<boolean>) {
    this.#bus = bus;
    this.#isAlive = isAlive;
  }

  /** Lets the other processes ask a runner of this one. Returns a function that ends this. */
  serve(runner: string, take: TaskTaker, read: ChangeReader): () => void {
    const ends = [
      this.#bus.answer(kindOf(runner), async ({ id, principal, request }) => {
        return { taken: await take(id, principal, request as TaskRequest) };
      }),
      this.#bus.answer(changesOf(runner), async ({ id, principal, seen }, { signal }) => {
        return { change: await read(id, principal, seen, signal) };
      }),
    ];
    return () => {
      for (const end of ends) end();
    };
  }

  /** Waits for the next change of a task at its runner, as `ChangeReader` does. A runner that has ended changes nothing more. */
  async nextChange(
    { id, principal, runner }: TaskRecord,
    seen: number | undefined,
    signal: AbortSignal,
  ): Promise<number | 'over' | 'unreachable'> {
    try {
      const call = this.#bus.call(nodeOf(runner), changesOf(runner), { id, principal, seen }, { signal });
      return (await call)['change'] as number | 'over';
    } catch {
      return signal.aborted || (await this.#isAlive(runner).catch(() => true)) ? 'unreachable' : 'over';
    }
  }

  /**
   * Passes a request on to the runner of a task.
   *
   * @returns whether the task runs there. False if the runner has ended.
   * @throws RpcError (rejects) that of the runner, or one that says that it cannot be reached.
   */
  async ask({ id, principal, runner }: TaskRecord, request: TaskRequest): Promise<boolean> {
    const bytes = 'cancel' in request ? 0 : Buffer.byteLength(JSON.stringify(request));
    const share = principal === undefined ? `task ${id}` : `principal ${principal}`;
    try {
      const { taken } = await this.#room.within(share, bytes, () =>
        this.#bus.call(nodeOf(runner), kindOf(runner), { id, principal, request }),
      );
      return taken === true;
    } catch (error) {
      if (!(isUnanswered(error) || error instanceof NoShareRoom)) throw error;
      if (!(error instanceof NoShareRoom) && !(await this.#isAlive(runner).catch(() => true))) return false;
      throw new Unreachable({ cause: error });
    }
  }
}

/** The process that runs a task is alive, and cannot be reached. */
export class Unreachable extends RpcError {
  constructor(options?: { readonly cause: Error }) {
    super(ErrorCode.InternalError, 'The process that runs the task cannot be reached; try again later', options);
  }
}

function kindOf(runner: string): string {
  return `task ${runner}`;
}

function changesOf(runner: string): string {
  return `task-changes ${runner}`;
}
