import { quoting, shortJson } from '../../../base/short-text.ts';
import { nextTurn } from '../../../base/wait.ts';
import { NotAsked, type Exchange } from '../../../core/exchange.ts';
import { ErrorCode, RpcError } from '../../../jsonrpc/errors.ts';
import {
  errorResponse,
  resultResponse,
  type JsonObject,
  type Message,
  type Request,
  type RequestId,
} from '../../../jsonrpc/message.ts';
import { weightOf } from '../../../jsonrpc/weight.ts';
import { Method } from '../../../protocol/methods.ts';
import { TotalLoad } from '../../total-load.ts';
import { allEnded, type Attribution } from './attribution.ts';
import type { CallsInFlight } from './calls-in-flight.ts';

/** How many questions of the server may be open at a time. */
const MAX_QUESTIONS = 1000;
/** The most memory of these questions, in bytes (estimated). A single question may be larger. */
const MAX_SIZE = 64 * 1024 * 1024;
/** The open questions of all servers of the process. Nobody may ever answer them. */
const total = new TotalLoad();

interface OpenQuestion {
  readonly controller: AbortController;
  readonly size: number;
}

/**
 * The questions of a server (sampling, roots, elicitation, ping). Each is asked through a call of the client that it is
 * for.
 */
export class ServerQuestions {
  readonly #calls: CallsInFlight;
  readonly #attribution: Attribution;
  readonly #reply: (response: Message) => void;
  readonly #open = new Map<RequestId, OpenQuestion>();
  #size = 0;

  constructor(calls: CallsInFlight, attribution: Attribution, reply: (response: Message) => void) {
    this.#calls = calls;
    this.#attribution = attribution;
    this.#reply = reply;
  }

  /** @param related the call on whose stream the question came. */
  receive({ id, method, params = {} }: Request, related: RequestId | undefined): void {
    if (method === Method.Ping) return this.#reply(resultResponse(id, {}));
    if (this.#open.has(id)) {
      const message = `Invalid request: id ${shortJson(id)} is still in use`;
      return this.#reply(errorResponse(undefined, { code: ErrorCode.InvalidRequest, message }));
    }
    const size = weightOf([id, params], MAX_SIZE);
    const message = this.#refusal(method, size);
    if (message !== undefined) return this.#reply(errorResponse(id, { code: ErrorCode.InternalError, message }));
    const controller = new AbortController();
    this.#open.set(id, { controller, size });
    this.#count(size);
    this.#ask(method, params, related, controller.signal).then(
      (result) => this.#answer(id, resultResponse(id, result)),
      (error: unknown) => this.#answer(id, errorResponse(id, RpcError.from(error).toObject())),
    );
  }

  /** The server has cancelled a question. */
  cancel(id: RequestId, reason: RpcError): void {
    const { controller } = this.#open.get(id) ?? {};
    this.#remove(id);
    controller?.abort(reason);
  }

  /** The connection has closed, so no answer can be sent. */
  close(reason: Error): void {
    for (const { controller } of this.#open.values()) controller.abort(reason);
    this.#open.clear();
    this.#count(-this.#size);
  }

  /** Sends the response, unless the server has cancelled the question meanwhile. */
  #answer(id: RequestId, response: Message): void {
    if (this.#remove(id)) this.#reply(response);
  }

  /** Returns whether the question was open. */
  #remove(id: RequestId): boolean {
    const question = this.#open.get(id);
    if (question) this.#count(-question.size);
    return this.#open.delete(id);
  }

  #count(size: number): void {
    this.#size += size;
    total.add(size);
  }

  /** Why a further question cannot be asked now. Undefined if it can. */
  #refusal(method: string, size: number): string | undefined {
    if (this.#open.size >= MAX_QUESTIONS)
      return quoting`${method} was not asked: ${MAX_QUESTIONS} questions of the server are open; wait until some are answered`;
    const own = this.#size + size;
    if (this.#size > 0 && own > MAX_SIZE)
      return quoting`${method} was not asked: the open questions of the server take ${MAX_SIZE} bytes; wait until some are answered`;
    if (!total.hasRoom(size, own))
      return quoting`${method} was not asked: the open questions of all servers take too much memory; wait until some are answered`;
    return undefined;
  }

  async #ask(
    method: string,
    params: JsonObject,
    related: RequestId | undefined,
    signal: AbortSignal,
  ): Promise<JsonObject> {
    // The server may be a bridge that had to guess the stream. Then another call may have asked the question.
    const relatedExchange = this.#calls.get(related)?.exchange;
    if (relatedExchange) return this.#through(relatedExchange, method, params, signal, this.#calls.size > 1);
    if (related !== undefined && this.#attribution.shared) throw allEnded();
    for (let exchange: Exchange | undefined; ;) {
      exchange = await this.#attribution.question(signal, method, params, exchange);
      signal.throwIfAborted();
      // Any of several calls may have asked, so the question does not end with the call that carries it. A server also
      // asks for roots without a call, when they have changed (client/roots: Root List Changes).
      // The call that carries it may have ended since it was chosen.
      const ambiguous = this.#calls.hasOthersThan(exchange) || method === Method.ListRoots;
      try {
        return await this.#through(exchange, method, params, signal, ambiguous);
      } catch (error) {
        if (!ambiguous || !(error instanceof NotAsked) || this.#calls.size === 0) throw error;
        // A call whose caller has left may be in flight for another moment. Without this pause, it would be found again
        // and again, and the event loop would never remove it.
        await nextTurn();
      }
    }
  }

  async #through(
    exchange: Exchange,
    method: string,
    params: JsonObject,
    signal: AbortSignal,
    outlivesRequest: boolean,
  ): Promise<JsonObject> {
    const call = this.#calls.of(exchange);
    if (call) this.#calls.asked(call);
    try {
      return await exchange.ask(method, params, { signal, outlivesRequest });
    } finally {
      if (call) this.#calls.answered(call);
    }
  }
}
