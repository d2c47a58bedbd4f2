import type { Caller, Exchange } from '../core/exchange.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { McpErrorCode } from '../protocol/errors.ts';
import { REVISIONS } from '../protocol/revisions.ts';
import { declaresTasks, TASKS_EXTENSION } from '../protocol/tasks.ts';
import type { State } from '../store/state.ts';
import type { TaskStore } from '../store/task-store.ts';

/** How a server stores its tasks. */
export interface TasksOptions {
  /** Default: `memoryTaskStore()`, whose tasks end with the process. */
  store?: TaskStore | undefined;
  /**
   * This server's name among those that share the store. It must be unique, and the same after a restart: tasks that
   * were left running then fail at the restart. Default: a random name; tasks that were left running stay until they
   * expire.
   */
  runner?: string | undefined;
}

/** Where tasks are kept, and who runs those of others. */
export interface KeptTasks extends TasksOptions {
  /** Whether a runner is still there. */
  readonly isAlive?: State['isAlive'];
  /** Reaches the runners in other processes. Given only with `isAlive`. */
  readonly bus?: State['bus'];
}

/** The initial values of a task. */
export interface StartTaskOptions {
  /** The status message, for people or models. */
  statusMessage?: string | undefined;
}

/** Turns a call into a task, once. Resolves with whether it is a task then. */
export type StartTask = (options: StartTaskOptions) => Promise<boolean>;

/** Runs a tool whose handler may start a task. */
export type RunTool = (exchange: Exchange, start: StartTask) => Promise<JsonObject>;

/** Whether a caller has the extension, in a revision that has it. */
export function supportsTasks({ revision, capabilities }: Caller): boolean {
  return REVISIONS[revision].era === 'modern' && declaresTasks(capabilities);
}

/**
 * @throws RpcError −32021 if the caller did not declare the extension (2026-07-28, basic: Error Codes; tasks extension:
 * Capability Negotiation).
 */
export function demandTasks(caller: Caller): void {
  if (supportsTasks(caller)) return;
  throw new RpcError(
    McpErrorCode.MissingRequiredClientCapability,
    `Missing required client capability: the request did not declare the extension ${TASKS_EXTENSION}`,
    { data: { requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } } },
  );
}
