import { printableError } from '../../../base/printable.ts';
import { ErrorCode, RpcError } from '../../../jsonrpc/errors.ts';
import { isObject, isRequestId, type JsonObject, type Notification, type RequestId } from '../../../jsonrpc/message.ts';
import { CONNECTION_CLOSED, REQUEST_TIMEOUT } from '../../../jsonrpc/pending.ts';
import type { TimeLimits } from '../../../base/deadline.ts';
import { abortReason, isAborted, offAbort, onAbort } from '../../../core/base-exchange.ts';
import { Lifetime } from '../../../base/lifetime.ts';
import { quoting } from '../../../base/short-text.ts';
import { waitFor } from '../../../base/wait.ts';
import type { Caller, Exchange, Service } from '../../../core/exchange.ts';
import { McpErrorCode } from '../../../protocol/errors.ts';
import { encodeHeaderValue } from '../../../protocol/header-value.ts';
import { isNotificationMethod, Meta, Method, NotificationMethod } from '../../../protocol/methods.ts';
import { mirroredArguments } from '../../../core/param-headers.ts';
import { REVISIONS, type Revision } from '../../../protocol/revisions.ts';
import { CHANGES } from '../../../protocol/subscriptions.ts';
import { declaresTasks } from '../../../protocol/tasks.ts';
import type { DiscoverResult, Implementation } from '../../../protocol/types.ts';
import type { CarriedResponse, Carrier } from '../../../transport/carrier.ts';
import { NoticeQueue } from '../../notice-queue.ts';
import { checkServerDescription } from '../../server-description.ts';
import type { ToolCatalog } from '../../tool-catalog.ts';
import { HANDSHAKE_TIMEOUT, limitsOf, type OpeningOptions, type Upstream } from '../../upstream.ts';
import { Deadline } from '../../../base/deadline.ts';
import { discover, isDiscoverResult, type Discovery } from './discover.ts';
import { NAMED } from '../translate/headers.ts';
import { checkedResult } from './outbound-results.ts';
import { subscribe } from './subscription.ts';
import { callsTool, headerCatalog, type ToolHeaders } from './tool-headers.ts';

export interface ModernOutboundOptions extends OpeningOptions {
  /** Whether requests carry the client information of their exchange's caller in place of this side's own. */
  readonly onBehalfOf?: Revision | undefined;
}

/**
 * Connects to a server of 2026-07-28 and returns it as a `Service`. First sends `server/discover`.
 *
 * Each exchange becomes one request that describes its sender. An `input_required` result is passed on unchanged, and
 * so is the `requestState` of the retry. A caller's notifications cannot be sent to the server: those of older
 * revisions are dropped, and others are refused with −32601.
 *
 * @param carrier is closed if this fails.
 * @throws RpcError if the server does not speak this revision, or does not answer in time: `NotModern`.
 */
export async function connectModern(carrier: Carrier, options: ModernOutboundOptions): Promise<Upstream> {
  const { clientInfo, capabilities = {}, revision, handshakeTimeout = HANDSHAKE_TIMEOUT } = options;
  const { openTimeout: timeout = handshakeTimeout } = options;
  try {
    const found = await discover(carrier, { clientInfo, capabilities, revision, timeout });
    return new ModernOutbound(carrier, found, options);
  } catch (error) {
    await carrier.close();
    throw RpcError.from(error);
  }
}

/** Notifications of older revisions, or about a request that has ended. They need no action. */
const DROPPED: ReadonlySet<string> = new Set([
  NotificationMethod.Initialized,
  NotificationMethod.Cancelled,
  NotificationMethod.Progress,
  NotificationMethod.RootsListChanged,
]);
/** Notifications that only subscriptions carry. */
const OF_SUBSCRIPTIONS: ReadonlySet<string> = new Set([
  ...CHANGES,
  NotificationMethod.Acknowledged,
  NotificationMethod.Cancelled,
  NotificationMethod.Task,
]);

interface Sender {
  readonly caller?: Caller;
  readonly token?: RequestId | undefined;
  readonly tool?: ToolHeaders | undefined;
}

class ModernOutbound implements Upstream {
  onclose: (() => void) | undefined;
  readonly revision: Revision;
  readonly #carrier: Carrier;
  readonly #options: ModernOutboundOptions;
  readonly #limits: TimeLimits;
  readonly #handshakeTimeout: number;
  readonly #onerror: (error: Error) => void;
  readonly #tools: ToolCatalog<ToolHeaders>;
  #discovered: DiscoverResult;
  #lastToken = 0;

  constructor(carrier: Carrier, { revision, discovered }: Discovery, options: ModernOutboundOptions) {
    this.#carrier = carrier;
    this.revision = revision;
    this.#discovered = discovered;
    this.#options = options;
    this.#limits = limitsOf(options);
    this.#handshakeTimeout = options.handshakeTimeout ?? HANDSHAKE_TIMEOUT;
    this.#onerror = options.onerror ?? (() => {});
    this.#tools = headerCatalog({
      list: (params, lifetime) => this.#listTools(params, lifetime),
      timeout: this.#handshakeTimeout,
      onerror: this.#onerror,
    });
    carrier.onclose = () => this.onclose?.();
  }

  /** The server's newest description of itself. */
  get discovered(): DiscoverResult {
    return this.#discovered;
  }

  get closed(): boolean {
    return this.#carrier.closed;
  }

  get closeReason(): Error | undefined {
    return this.#carrier.closeReason;
  }

  close(): Promise<void> {
    return this.#carrier.close();
  }

  readonly service: Service = (exchange) => {
    const { method, params } = exchange;
    if (isAborted(exchange)) return Promise.reject(abortReason(exchange));
    if (method === Method.Listen) return this.#listen(exchange);
    if (isNotificationMethod(method)) return this.#drop(method);
    if (this.#carrier.mirrorsHeaders && callsTool(method, params)) return this.#callTool(exchange);
    return this.#call(exchange);
  };

  /**
   * Only requests may be sent to a server of this revision (2026-07-28, basic/transports/streamable-http: Sending
   * Messages).
   */
  #drop(method: string): Promise<JsonObject> {
    if (DROPPED.has(method)) return Promise.resolve({});
    const message = quoting`Method not found: in revision ${this.revision}, a client must not send ${method}`;
    return Promise.reject(new RpcError(ErrorCode.MethodNotFound, message));
  }

  /** 2026-07-28, basic/transports/streamable-http: Client Behavior. */
  async #callTool(exchange: Exchange): Promise<JsonObject> {
    const name: string = exchange.params['name'];
    const known = this.#tools.known(name) ?? (await waitFor(this.#tools.read(name), exchange));
    try {
      return await this.#call(exchange, known);
    } catch (error) {
      if (!(error instanceof RpcError) || error.code !== McpErrorCode.HeaderMismatch) throw error;
      // The definition may have changed. A call that is refused for this reason has not run.
      this.#tools.forget();
      return this.#call(exchange, await waitFor(this.#tools.read(name), exchange));
    }
  }

  async #call(exchange: Exchange, toolHeaders?: ToolHeaders): Promise<JsonObject> {
    const { method, params, caller } = exchange;
    if (toolHeaders instanceof Error) throw new RpcError(ErrorCode.InvalidParams, toolHeaders.message);
    const given: unknown = params['_meta']?.[Meta.ProgressToken];
    const token = isRequestId(given) ? ++this.#lastToken : undefined;
    const lifetime = new Lifetime();
    const cancel = (): void => lifetime.abort(RpcError.from(abortReason(exchange)));
    if (isAborted(exchange)) cancel();
    else onAbort(exchange, cancel);
    const deadline = new Deadline(this.#limits, (limit) =>
      lifetime.abort(
        new RpcError(REQUEST_TIMEOUT, quoting`Request timed out: ${method} was not answered within ${limit} ms`),
      ),
    );
    let notices: NoticeQueue | undefined;
    const onnotification = (notification: Notification): void => {
      const { method: notice } = notification;
      let told = notification.params ?? {};
      if (notice === NotificationMethod.Progress) {
        if (token === undefined || told['progressToken'] !== token) return this.#stray(notification);
        deadline.extend();
        told = { ...told, progressToken: given as RequestId };
      } else if (OF_SUBSCRIPTIONS.has(notice)) return this.#stray(notification);
      notices ??= new NoticeQueue(exchange, this.#onerror);
      notices.push(notice, told);
    };
    try {
      const sender = { caller, token, tool: toolHeaders };
      const result = resultOf(await this.#send(method, params, sender, lifetime, onnotification));
      return this.#take(method, checkedResult(method, result, declaresTasks(this.#capabilities(caller))));
    } catch (error) {
      throw this.#failure(error, lifetime);
    } finally {
      offAbort(exchange, cancel);
      deadline.clear();
      notices?.flush();
    }
  }

  #listen(exchange: Exchange): Promise<JsonObject> {
    const { params, caller } = exchange;
    return subscribe(
      exchange,
      async (lifetime, onnotification) =>
        resultOf(await this.#send(Method.Listen, params, { caller }, lifetime, onnotification)),
      {
        timeout: this.#handshakeTimeout,
        onchange: (method) => {
          if (method === NotificationMethod.ToolsListChanged) this.#tools.forget();
        },
        onerror: this.#onerror,
      },
    );
  }

  /** Reads one page of the list, for the headers of tools. */
  async #listTools(params: JsonObject, lifetime: Lifetime): Promise<JsonObject> {
    const result = resultOf(await this.#send(Method.ListTools, params, {}, lifetime, () => {}));
    return checkedResult(Method.ListTools, result, false);
  }

  /** Sends one request, for a caller or for this side itself. */
  #send(
    method: string,
    params: JsonObject,
    { caller, token, tool }: Sender,
    lifetime: Lifetime,
    onnotification: (notification: Notification) => void,
  ): Promise<CarriedResponse> {
    return this.#carrier.request({
      method,
      params: { ...params, _meta: this.#meta(params['_meta'], caller, token) },
      headers: this.#carrier.mirrorsHeaders ? this.#headers(method, params, tool) : undefined,
      lifetime,
      onnotification,
    });
  }

  /** Remembers what this side needs from a result, and returns what the caller gets. */
  #take(method: string, result: JsonObject): JsonObject {
    if (method === Method.ListTools && this.#carrier.mirrorsHeaders) return this.#tools.learn(result);
    if (method === Method.Discover && isDiscoverResult(result)) {
      checkServerDescription(result);
      this.#discovered = result;
    }
    return result;
  }

  /**
   * The `_meta` that describes a request's sender. The caller's own values are not passed on (2026-07-28, basic:
   * _meta).
   */
  #meta(given: unknown, caller: Caller | undefined, token: RequestId | undefined): JsonObject {
    const meta: JsonObject = {
      ...(isObject(given) ? given : {}),
      [Meta.ProtocolVersion]: this.revision,
      [Meta.ClientInfo]: this.#clientInfo(caller),
      [Meta.ClientCapabilities]: this.#capabilities(caller),
    };
    delete meta[Meta.SubscriptionId];
    put(meta, Meta.LogLevel, caller && this.#logLevel(caller));
    put(meta, Meta.ProgressToken, token);
    return meta;
  }

  #clientInfo(caller: Caller | undefined): Implementation {
    const { onBehalfOf, clientInfo } = this.#options;
    return (onBehalfOf && caller?.clientInfo) ?? clientInfo;
  }

  #capabilities(caller: Caller | undefined): JsonObject {
    const { onBehalfOf, capabilities } = this.#options;
    return (onBehalfOf && caller?.capabilities) ?? capabilities ?? caller?.capabilities ?? {};
  }

  /**
   * In this revision, no level means no messages (2026-07-28, server/utilities/logging). In older revisions it means
   * all.
   */
  #logLevel({ logLevel, revision }: Caller): string | undefined {
    if (logLevel !== undefined || REVISIONS[revision].era === 'modern') return logLevel;
    return isObject(this.#discovered.capabilities['logging']) ? 'debug' : undefined;
  }

  /** 2026-07-28, basic/transports/streamable-http: Request Metadata. */
  #headers(method: string, params: JsonObject, tool: ToolHeaders | undefined): Record<string, string> {
    const headers: Record<string, string> = { 'mcp-protocol-version': this.revision, 'mcp-method': method };
    const name: unknown = Object.hasOwn(NAMED, method) ? params[NAMED[method]!] : undefined;
    if (typeof name === 'string') headers['mcp-name'] = encodeHeaderValue(name);
    const args: unknown = params['arguments'];
    if (!tool || tool instanceof Error || !isObject(args)) return headers;
    return Object.assign(headers, mirroredArguments(tool, args));
  }

  #stray({ method }: Notification): void {
    this.#onerror(printableError(quoting`${method} was ignored: it belongs to no request in flight`));
  }

  #failure(error: unknown, lifetime: Lifetime): RpcError {
    if (error instanceof RpcError) return error;
    if (lifetime.ended) return RpcError.from(lifetime.ended);
    if (!this.#carrier.closed) return RpcError.from(error);
    return new RpcError(CONNECTION_CLOSED, (error as Error).message, { cause: error });
  }
}

function resultOf(response: CarriedResponse): JsonObject {
  if ('error' in response) throw RpcError.fromObject(response.error, response.failure);
  return response.result;
}

function put(meta: JsonObject, key: string, value: unknown): void {
  if (value === undefined) delete meta[key];
  else meta[key] = value;
}
