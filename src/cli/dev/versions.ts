import { derive } from '../../core/derive.ts';
import { Deferred } from '../../base/deferred.ts';
import { waitFor } from '../../base/wait.ts';
import { splitState, splitTaskId } from '../../bridge/fleet/ids.ts';
import { LIST_CAPABILITIES } from '../../bridge/fleet/description.ts';
import { LISTS } from '../../bridge/fleet/kinds.ts';
import { renameNotice, renameResult } from '../../bridge/fleet/results.ts';
import { runListen } from '../../bridge/fleet/run-listen.ts';
import { replaceRelatedTask } from '../../bridge/task-ids.ts';
import type { Exchange, Service } from '../../core/exchange.ts';
import { ErrorCode, RpcError } from '../../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { put } from '../../jsonrpc/shape.ts';
import { isNotificationMethod, Method } from '../../protocol/methods.ts';
import type { SubscriptionFilter } from '../../protocol/types.ts';
import { renamingFor, VersionUse, type ServedVersion } from './version-use.ts';
import { VersionsListen } from './versions-listen.ts';

/** The most old versions that run on because something of theirs has not ended. */
const MAX_OLD = 3;

/**
 * One service whose versions replace each other while clients stay connected. New requests go to the newest version. A
 * request in flight, a task and a question belong to the version that has them, and keep it running.
 */
export class Versions {
  readonly service: Service = (exchange) => this.#answer(exchange);
  readonly #name: string;
  readonly #onerror: (error: Error) => void;
  readonly #listens = new Set<VersionsListen>();
  /** From the oldest to the newest. */
  #live: VersionUse[] = [];
  /** Pending while the first version starts. Undefined if none has started and the last attempt failed. */
  #first: Deferred | undefined = new Deferred();

  /**
   * @param name the server's name in errors.
   * @param onerror gets the errors of ending old versions.
   */
  constructor(name: string, onerror: (error: Error) => void) {
    this.#name = name;
    this.#onerror = onerror;
  }

  get current(): VersionUse | undefined {
    return this.#live.at(-1);
  }

  /** A version is being started. If there is none yet, requests wait for it. */
  starting(): void {
    if (!this.current) this.#first ??= new Deferred();
  }

  /** It did not start. If there is no other, requests are refused. */
  failed(): void {
    if (this.current) return;
    this.#first?.reject(this.#notStarted());
    this.#first = undefined;
  }

  /** @param changed which lists differ from those of the last version. */
  replace(version: ServedVersion, changed: SubscriptionFilter): void {
    const use = new VersionUse(version, () => this.#retire());
    this.#live.push(use);
    this.#first?.resolve();
    for (const listen of this.#listens) listen.update(use, changed);
    this.#retire();
  }

  /** Ends subscriptions and all versions. */
  async close(): Promise<void> {
    for (const listen of this.#listens) listen.end();
    this.failed();
    const live = this.#live;
    this.#live = [];
    await Promise.all(live.map(({ version }) => version.close()));
  }

  /** Ends the old versions that nothing needs, and the oldest ones if there are too many. */
  #retire(): void {
    const old = this.#live.slice(0, -1);
    const over = old.filter((use, index) => !use.needed || index < old.length - MAX_OLD);
    if (over.length === 0) return;
    this.#live = this.#live.filter((use) => !over.includes(use));
    for (const { version } of over) version.close().catch(this.#onerror);
  }

  async #answer(exchange: Exchange): Promise<JsonObject> {
    const { method } = exchange;
    if (!this.current) {
      if (!this.#first) throw this.#notStarted();
      await waitFor(this.#first.promise, exchange);
    }
    if (method === Method.Listen)
      return runListen(this.#listens, new VersionsListen(exchange, this.#live), exchange.signal);
    if (isNotificationMethod(method)) return this.#notifyAll(exchange);
    const list = LISTS.get(method);
    if (list && LIST_CAPABILITIES[list.capability])
      return this.#forward(exchange, this.#newest()).catch((error: unknown) => {
        // To clients, every version has these lists, because the next version may have entries.
        if (RpcError.from(error).code !== ErrorCode.MethodNotFound) throw error;
        return { [list.key]: [] };
      });
    const result = await this.#forward(exchange, ...this.#route(exchange.params));
    return method === Method.Discover ? withLists(result) : result;
  }

  #newest(): VersionUse {
    const { current } = this;
    if (!current) throw this.#notStarted();
    return current;
  }

  /** The version that a request belongs to, and its parameters there. @throws RpcError −32602 if it has ended. */
  #route(params: JsonObject): [VersionUse, JsonObject?] {
    const { requestState, taskId } = params;
    const state = splitState(requestState);
    if (state) {
      const use = this.#withLabel(state.label, 'call again without "requestState"');
      use.returned(requestState as string);
      return [use, put(params, 'requestState', state.state)];
    }
    const task = splitTaskId(taskId);
    if (task) return [this.#withLabel(task.label, 'the task is lost'), { ...params, taskId: task.id }];
    return [this.#newest()];
  }

  #withLabel(label: string, advice: string): VersionUse {
    const use = this.#live.find(({ version }) => version.label === label);
    if (use) return use;
    throw new RpcError(
      ErrorCode.InvalidParams,
      `The version of ${this.#name} that this belongs to has ended; ${advice}`,
    );
  }

  async #forward(exchange: Exchange, use: VersionUse, params = exchange.params): Promise<JsonObject> {
    const { method } = exchange;
    const renaming = renamingFor(use);
    const notify: Exchange['notify'] = (notice, noticeParams) =>
      exchange.notify(notice, noticeParams && use.seen(renameNotice(noticeParams, renaming)));
    const ask: Exchange['ask'] = (question, questionParams, options) =>
      exchange.ask(question, replaceRelatedTask(questionParams, renaming.taskId), options);
    return use.during(async () => {
      const result = await use.version.service(derive(exchange, { params, notify, ask }));
      return isObject(result) ? use.seen(renameResult(result, method, renaming)) : result;
    });
  }

  /** Sends the caller's general notifications to all versions, such as a change of its roots. */
  async #notifyAll(exchange: Exchange): Promise<JsonObject> {
    await Promise.allSettled(this.#live.map(({ version }) => version.service(exchange)));
    return {};
  }

  #notStarted(): RpcError {
    return new RpcError(ErrorCode.InternalError, `${this.#name} did not start; everwire dev has printed why`);
  }
}

/** Clients learn once which lists there are, so every list is declared: a later version may have its first entry. */
function withLists(description: JsonObject): JsonObject {
  const { capabilities } = description;
  return { ...description, capabilities: { ...(isObject(capabilities) && capabilities), ...LIST_CAPABILITIES } };
}
