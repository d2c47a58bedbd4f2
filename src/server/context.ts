import { inTurn } from '../core/turn.ts';
import type { Caller, Exchange } from '../core/exchange.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { isObject, isRequestId, type JsonObject } from '../jsonrpc/message.ts';
import { reaches, type LogLevel } from '../protocol/logging.ts';
import { Meta, Method, Notice } from '../protocol/methods.ts';
import type { ContentBlock, ElicitResult, Root } from '../protocol/types.ts';

/** The answer to a sampling request (client/sampling). */
export interface SampleResult {
  role: 'user' | 'assistant';
  content: ContentBlock | JsonObject | (ContentBlock | JsonObject)[];
  model: string;
  stopReason?: string;
  _meta?: JsonObject;
}

const DROPPED = Promise.resolve();

/**
 * What a handler can do beside returning a result: tell its caller something, ask it something, learn who it is.
 *
 * Every question rejects with an `RpcError`: −32601 where the caller lacks the capability, otherwise the caller's own.
 */
export class Context {
  /** The request being answered, raw. */
  readonly exchange: Exchange;
  #progress = Number.NEGATIVE_INFINITY;

  constructor(exchange: Exchange) {
    this.exchange = exchange;
  }

  /** Who is asking, and what they can do. */
  get caller(): Caller {
    return this.exchange.caller;
  }

  /** Fires when the caller cancelled, or is gone for good. */
  get signal(): AbortSignal {
    return this.exchange.signal;
  }

  /**
   * Tells the caller how far the work is; nothing is sent where it did not ask to know, or where `progress` did not grow
   * since the last time (2025-11-25, basic/utilities/progress: the value MUST increase). Resolves when the transport has
   * taken it; need not be awaited.
   */
  progress(progress: number, total?: number, message?: string): Promise<void> {
    const { _meta: meta } = this.exchange.params;
    const progressToken: unknown = isObject(meta) ? meta[Meta.ProgressToken] : undefined;
    if (!isRequestId(progressToken) || !Number.isFinite(progress) || progress <= this.#progress) {
      return inTurn(DROPPED);
    }
    this.#progress = progress;
    const params: JsonObject = { progressToken, progress };
    if (total !== undefined) params['total'] = total;
    if (message !== undefined) params['message'] = message;
    return this.#notify(Notice.Progress, params);
  }

  /**
   * Sends a log message to the caller; nothing where it asked for more severe ones only. `data` is anything that can be
   * written as JSON. Resolves when the transport has taken it; need not be awaited.
   */
  log(level: LogLevel, data: unknown, logger?: string): Promise<void> {
    if (!reaches(level, this.exchange.caller.logLevel)) return inTurn(DROPPED);
    return this.#notify(Notice.Message, logger === undefined ? { level, data } : { level, logger, data });
  }

  #notify(method: string, params: JsonObject): Promise<void> {
    const sent = this.exchange.notify(method, params);
    // Handlers often do not await it, and the exchange may be one that middleware made.
    sent.catch(() => {});
    return sent;
  }

  /** Asks the person behind the caller to fill in a form: a flat object schema of primitive values (client/elicitation). */
  async elicit(form: { message: string; requestedSchema: JsonObject }): Promise<ElicitResult> {
    return (await this.exchange.ask(Method.Elicit, { ...form })) as ElicitResult;
  }

  /** Asks the person behind the caller to go to an address, for what must not pass through the client (client/elicitation). */
  async elicitUrl(visit: { message: string; url: string; elicitationId: string }): Promise<ElicitResult> {
    return (await this.exchange.ask(Method.Elicit, { mode: 'url', ...visit })) as ElicitResult;
  }

  /** Asks the caller's model for a message; `params` as in `sampling/createMessage` (client/sampling). */
  async sample(params: JsonObject): Promise<SampleResult> {
    return (await this.exchange.ask(Method.CreateMessage, params)) as SampleResult;
  }

  /** Asks the caller for its roots (client/roots). */
  async roots(): Promise<Root[]> {
    const { roots } = await this.exchange.ask(Method.ListRoots, {});
    if (!Array.isArray(roots))
      throw new RpcError(ErrorCode.InternalError, 'The caller answered roots/list without roots');
    return roots as Root[];
  }
}
