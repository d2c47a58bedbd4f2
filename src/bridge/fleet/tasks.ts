import type { Exchange } from '../../core/exchange.ts';
import { ErrorCode, RpcError } from '../../jsonrpc/errors.ts';
import { McpErrorCode } from '../../protocol/errors.ts';
import { Method } from '../../protocol/methods.ts';
import { REVISIONS } from '../../protocol/revisions.ts';
import { declaresTasks, TASKS_EXTENSION } from '../../protocol/tasks.ts';

const TASK_ID = /^([a-z0-9.-]+):(.*)$/s;
const STATE = /^([a-z0-9.-]+)([:!])(.*)$/s;

/** The id of a server's task outside: `notes:4711`. */
export function taskIdOf(label: string, id: string): string {
  return `${label}:${id}`;
}

/** Takes the id of a task apart. */
export function splitTaskId(taskId: unknown): { readonly label: string; readonly id: string } | undefined {
  const [, label, id] = typeof taskId === 'string' ? (TASK_ID.exec(taskId) ?? []) : [];
  return label === undefined || id === undefined ? undefined : { label, id };
}

/** What a caller carries between the rounds of a request, with the server that it leads back to. */
export function stateOf(label: string, state: string | undefined): string {
  return state === undefined ? `${label}!` : `${label}:${state}`;
}

/** Takes a state apart; its server's own is undefined where that gave none. */
export function splitState(
  requestState: unknown,
): { readonly label: string; readonly state: string | undefined } | undefined {
  const [, label, kind, state] = typeof requestState === 'string' ? (STATE.exec(requestState) ?? []) : [];
  if (label === undefined || (kind === '!' && state !== '')) return undefined;
  return { label, state: kind === '!' ? undefined : state };
}

/** The requests of the tasks extension. */
const OF_EXTENSION: ReadonlySet<string> = new Set([Method.GetTask, Method.UpdateTask, Method.CancelTask]);

/**
 * Why a request for a task that leads to no server is refused (tasks extension: Protocol Errors).
 *
 * @param servers whether any of them has tasks: those of 2025-11-25, those of the extension.
 */
export function unknownTask(
  { method, caller }: Exchange,
  servers: { readonly core: boolean; readonly extension: boolean },
): RpcError {
  const extension = OF_EXTENSION.has(method) && servers.extension;
  if (!extension && !servers.core) return new RpcError(ErrorCode.MethodNotFound, `Method not found: ${method}`);
  if (extension && REVISIONS[caller.revision].era === 'modern' && !declaresTasks(caller.capabilities)) {
    return new RpcError(
      McpErrorCode.MissingRequiredClientCapability,
      `${method} is for clients that declare the extension ${TASKS_EXTENSION}`,
      { data: { requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } } },
    );
  }
  return new RpcError(
    ErrorCode.InvalidParams,
    'Task not found: there is none with this id, or its server is not here any more',
  );
}
