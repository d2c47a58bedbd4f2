import type { Caller, Exchange } from '../core/exchange.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import type { DetailedTask } from '../protocol/tasks.ts';
import type { TaskSource } from './listeners.ts';
import type { TaskSettings } from './task-config.ts';
import { demandTasks, type RunTool, type TasksOptions } from './task-rules.ts';
import type { Tasks } from './tasks.ts';

/**
 * Where the rest of a server asks for its tasks. What tasks need is loaded when there is one: most servers have no tool
 * that works as a task.
 */
export class TaskDesk implements TaskSource {
  /** Called with whose task it is, and the task, after each change of it. */
  onchange: ((principal: string | undefined, task: DetailedTask) => void) | undefined;
  readonly #options: TasksOptions;
  readonly #onerror: (error: Error) => void;
  #tasks: Promise<Tasks> | undefined;
  #used = false;

  constructor(options: TasksOptions, onerror: (error: Error) => void) {
    this.#options = options;
    this.#onerror = onerror;
  }

  /** Whether any tool works as a task, or did. */
  get used(): boolean {
    return this.#used;
  }

  /** There is a tool that works as a task. */
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
