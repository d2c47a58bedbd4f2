import { stateOf, taskIdOf } from '../../bridge/fleet/ids.ts';
import type { Renaming } from '../../bridge/fleet/results.ts';
import type { Service } from '../../core/exchange.ts';
import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { isTerminal } from '../../protocol/tasks.ts';

/** What is served: one version of a server. */
export interface ServedVersion {
  /** Lower-case letters and digits. No other version has the same one. */
  readonly label: string;
  readonly service: Service;
  close(): Promise<void>;
}

/** The most states and tasks that are remembered for each version. Above that, the oldest are forgotten. */
const MAX_REMEMBERED = 1000;

/** A version, and what still needs it: requests in flight, open questions and running tasks. */
export class VersionUse {
  readonly version: ServedVersion;
  readonly #onended: () => void;
  readonly #states = new Set<string>();
  readonly #tasks = new Set<string>();
  #requests = 0;

  /** @param onended called when something that needed the version has ended. */
  constructor(version: ServedVersion, onended: () => void) {
    this.version = version;
    this.#onended = onended;
  }

  get needed(): boolean {
    return this.#requests + this.#states.size + this.#tasks.size > 0;
  }

  /** The version is needed until the work is done. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#requests += 1;
    try {
      return await work();
    } finally {
      this.#requests -= 1;
      this.#onended();
    }
  }

  /** Notes the tasks and the state in a result or notification of the version. Returns it unchanged. */
  seen(message: JsonObject): JsonObject {
    if (typeof message['requestState'] === 'string') remember(this.#states, message['requestState']);
    for (const task of [message, message['task']]) {
      if (!isObject(task) || typeof task['taskId'] !== 'string' || typeof task['status'] !== 'string') continue;
      if (!isTerminal(task['status'])) remember(this.#tasks, task['taskId']);
      else if (this.#tasks.delete(task['taskId'])) this.#onended();
    }
    return message;
  }

  /** A caller has come back with this state. */
  returned(state: string): void {
    this.#states.delete(state);
  }
}

/** Task ids and states name their version. URIs stay as they are. */
export function renamingFor({ version: { label } }: VersionUse): Renaming {
  return { uri: (uri) => uri, taskId: (id) => taskIdOf(label, id), state: (state) => stateOf(label, state) };
}

function remember(set: Set<string>, value: string): void {
  set.delete(value);
  set.add(value);
  const [oldest] = set;
  if (set.size > MAX_REMEMBERED) set.delete(oldest!);
}
