import { Deferred } from '../base/deferred.ts';
import { ShareCounts } from '../base/share.ts';
import { idlePause } from '../base/wait.ts';
import type { TaskRecord } from '../store/task-store.ts';
import type { OtherRunners } from './other-runners.ts';

/** The most tasks of one principal, or of one address without a principal, that are followed at a time. */
const MAX_OF_ONE = 256;
/** The pause before a runner that did not answer is asked again. Milliseconds. */
const PAUSE = 1000;

interface Followed {
  /** Whether the runner tells of each change from now on. */
  readonly begun: Promise<boolean>;
  readonly abort: AbortController;
  uses: number;
}

/** The tasks in other processes that somebody here listens to. Their runners are asked for one change after the other. */
export class FollowedTasks {
  readonly #runners: OtherRunners;
  readonly #onchange: (task: TaskRecord) => void;
  readonly #followed = new Map<string, Followed>();
  readonly #counts = new ShareCounts();

  /** @param onchange called after each change, and when a task has ended with its process. */
  constructor(runners: OtherRunners, onchange: (task: TaskRecord) => void) {
    this.#runners = runners;
    this.#onchange = onchange;
  }

  /**
   * Follows a task that was not over when it was read.
   *
   * @returns a function that ends this. Undefined if its runner cannot be reached or has ended, or too many are followed.
   */
  async follow(task: TaskRecord): Promise<(() => void) | undefined> {
    if (!this.#followed.has(task.id) && this.#counts.of(shareOf(task)) >= MAX_OF_ONE) return undefined;
    const followed = this.#followed.get(task.id) ?? this.#begin(task);
    followed.uses += 1;
    const stop = (): void => {
      followed.uses -= 1;
      if (followed.uses > 0) return;
      this.#end(task, followed);
    };
    if (await followed.begun) return stop;
    stop();
    return undefined;
  }

  #begin(task: TaskRecord): Followed {
    const begun = new Deferred<boolean>();
    const followed: Followed = { begun: begun.promise, abort: new AbortController(), uses: 0 };
    this.#followed.set(task.id, followed);
    this.#counts.add(shareOf(task));
    void this.#run(task, followed.abort.signal, begun).finally(() => {
      begun.resolve(false);
      this.#end(task, followed);
    });
    return followed;
  }

  #end(task: TaskRecord, followed: Followed): void {
    followed.abort.abort();
    if (this.#followed.get(task.id) !== followed) return;
    this.#followed.delete(task.id);
    this.#counts.remove(shareOf(task));
  }

  async #run(task: TaskRecord, signal: AbortSignal, begun: Deferred<boolean>): Promise<void> {
    let hasBegun = false;
    let seen: number | undefined;
    for (;;) {
      const change = await this.#runners.nextChange(task, seen, signal);
      if (signal.aborted || (change === 'unreachable' && !hasBegun)) return;
      if (change === 'unreachable') {
        await idlePause(PAUSE);
        seen = undefined;
        continue;
      }
      // Whoever begins to listen has yet to read the task.
      if (hasBegun) this.#onchange(task);
      if (change === 'over') return;
      seen = change;
      hasBegun = true;
      begun.resolve(true);
    }
  }
}

function shareOf({ principal, share }: TaskRecord): string {
  return principal === undefined ? `share ${share ?? ''}` : `principal ${principal}`;
}
