import type { Caller, Exchange } from '../core/exchange.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import type { DetailedTask } from '../protocol/tasks.ts';
import type { TaskSource } from './listeners.ts';
import type { TaskSettings } from './task-config.ts';
import { demandTasks, type RunTool, type TasksOptions } from './task-rules.ts';
import type { Tasks } from './tasks.ts';

/**
 * The server's access to its tasks. The code for tasks is loaded only when a tool works as a task: most servers have
 * none.
 */
export class TaskDesk implements TaskSource {
  /** Called after each change of a task, with its principal and the task. */
  onchange: ((principal: string | undefined, task: DetailedTask) => void) | undefined;
  readonly #options: TasksOptions;
  readonly #onerror: (error: Error) => void;
  #tasks: Promise<Tasks> | undefined;
  #used = false;

  constructor(options: TasksOptions, onerror: (error: Error) => void) {
    this.#options = options;
    this.#onerror = onerror;
  }

  /** Whether any tool works as a task, or did before. */
  get used(): boolean {
    return this.#used;
  }

  /** Called when a tool that works as a task is registered. */
  use(): void {
    this.#used = true;
  }

  demand(caller: Caller): void {
    demandTasks(caller);
  }

  /** See `Tasks.call`. */
  async call(settings: TaskSettings, exchange: Exchange, run: RunTool): Promise<JsonObject> {
    return (await this.#open()).call(settings, exchange, run);
  }

  /** `tasks/get`, `tasks/update`, `tasks/cancel`: see `Tasks`. */
  async answer(kind: 'get' | 'update' | 'cancel', exchange: Exchange): Promise<JsonObject> {
    return (await this.#open())[kind](exchange);
  }

  async audible(ids: readonly string[], caller: Caller): Promise<Map<string, DetailedTask>> {
    return (await this.#open()).audible(ids, caller);
  }

  /** See `Tasks.close`. */
  async close(timeout: number): Promise<void> {
    await (await this.#tasks)?.close(timeout);
  }

  #open(): Promise<Tasks> {
    return (this.#tasks ??= import('./tasks.ts').then(({ Tasks }) => {
      const tasks = new Tasks(this.#options, this.#onerror);
      tasks.onchange = (principal, task) => this.onchange?.(principal, task);
      return tasks;
    }));
  }
}
