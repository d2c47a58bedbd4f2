import type { TimeLimits } from '../../../base/deadline.ts';
import { Recent } from '../../../base/recent.ts';
import { quoting } from '../../../base/short-text.ts';
import type { AskOptions } from '../../../core/exchange.ts';
import { ErrorCode, RpcError } from '../../../jsonrpc/errors.ts';
import {
  errorResponse,
  isRequestId,
  type JsonObject,
  type Request,
  type RequestId,
  type Response,
} from '../../../jsonrpc/message.ts';
import { PendingRequests } from '../../../jsonrpc/pending.ts';
import { missingCapability } from '../../../protocol/capabilities.ts';
import { Meta, NotificationMethod } from '../../../protocol/methods.ts';
import { REVISIONS } from '../../../protocol/revisions.ts';
import type { Transport } from '../../../transport/transport.ts';
import type { RequestsInFlight } from '../../requests-in-flight.ts';
import { toLegacyQuestion, type LegacyQuestion } from '../translate/questions.ts';
import { wholeRoom } from '../translate/room.ts';
import { RequestExchange, type Connection, type ConnectionExchange } from './exchange.ts';

/** The questions to the client of one session: sampling, elicitation, roots. */
export class ClientQuestions {
  readonly #transport: Transport;
  readonly #requests: RequestsInFlight;
  readonly #connection: Connection;
  readonly #limits: TimeLimits;
  readonly #pending: PendingRequests;
  /** What open questions have left. */
  readonly #room = wholeRoom();
  /** The request that asked each question, by the id of the question. */
  #askers: Map<RequestId, RequestExchange> | undefined;
  /** Questions that wait until the client is initialized, by id. Undefined after that. */
  #held: Map<RequestId, () => void> | undefined = new Map();
  /** Questions that were withdrawn recently. */
  #withdrawn: Recent | undefined;
  /** Progress tokens of open questions. Progress extends the time of a question. */
  #tokens: Map<unknown, RequestId> | undefined;

  constructor(connection: Connection, transport: Transport, requests: RequestsInFlight, limits: TimeLimits) {
    this.#connection = connection;
    this.#transport = transport;
    this.#requests = requests;
    this.#limits = limits;
    // An answer to a question of another process must not answer one of this process.
    this.#pending = new PendingRequests(transport.revived ? Math.floor(Math.random() * 2 ** 50) : 0);
  }

  /** Asks on behalf of an exchange. If the exchange ends, the question is withdrawn. */
  ask(
    asking: ConnectionExchange,
    method: string,
    params: JsonObject,
    { signal, outlivesRequest = false }: AskOptions = {},
  ): Promise<JsonObject> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    let asked: LegacyQuestion;
    const before = { ...this.#room };
    try {
      asked = this.#translated(method, params);
    } catch (error) {
      Object.assign(this.#room, before);
      return Promise.reject(RpcError.from(error));
    }
    const taken = { bytes: before.bytes - this.#room.bytes, fields: before.fields - this.#room.fields };
    const { restore } = asked;
    // If another request may have asked, the question is on no request's stream: behind the client may be several users, and it
    // would ask the wrong one.
    const isUnclear = outlivesRequest && this.#transport.listensOutsideRequests !== false;
    const stream = isUnclear ? undefined : asking.stream;
    const withdraw = (id: RequestId, reason: string): void => {
      if (this.#held?.delete(id)) return;
      (this.#withdrawn ??= new Recent()).add(id);
      // The cancellation tells the client that it need not answer (basic/utilities/cancellation).
      void this.#connection.notify(NotificationMethod.Cancelled, { requestId: id, reason }, stream);
    };
    const { id, result } = this.#pending.open(
      method,
      asked.params,
      this.#limits,
      (message) => this.#send(message, stream),
      withdraw,
    );
    const withdrawQuestion = (reason: Error): void => {
      if (this.#pending.cancel(id, reason)) withdraw(id, reason.message);
    };
    const ended = (): void => withdrawQuestion(asking.ended!);
    const onWithdrawn = (): void => withdrawQuestion(signal!.reason as Error);
    signal?.addEventListener('abort', onWithdrawn);
    if (!outlivesRequest) asking.onAbort(ended);
    const token: unknown = params['_meta']?.[Meta.ProgressToken];
    if (isRequestId(token)) (this.#tokens ??= new Map()).set(token, id);
    // An answer counts towards the request that asked. If a question outlives its request, its answer counts towards
    // none.
    const request = asking instanceof RequestExchange ? asking : undefined;
    if (request && !outlivesRequest) (this.#askers ??= new Map()).set(id, request);
    const release = request && outlivesRequest ? this.#requests.keep(request.request) : undefined;
    return (restore ? result.then(restore) : result).finally(() => {
      this.#room.bytes += taken.bytes;
      this.#room.fields += taken.fields;
      this.#askers?.delete(id);
      asking.offAbort(ended);
      signal?.removeEventListener('abort', onWithdrawn);
      if (isRequestId(token)) this.#tokens?.delete(token);
      release?.();
    });
  }

  /** Handles a response. Its bytes count towards the asking request. Returns false if nothing waits for it. */
  settle(response: Response, bytes: number): boolean {
    const { id } = response;
    const asker = id === undefined ? undefined : this.#askers?.get(id);
    if ('result' in response && asker && !this.#requests.grow(asker.request, bytes)) {
      const message = 'The answer was dropped: with it, the requests in flight would be too large';
      return this.#pending.settle(errorResponse(id, { code: ErrorCode.InternalError, message }));
    }
    return this.#pending.settle(response) || (this.#withdrawn?.has(id) ?? false);
  }

  /** Progress of the client extends the time of its question. Returns false if no open question has this token. */
  extend({ progressToken }: JsonObject): boolean {
    const id = this.#tokens?.get(progressToken);
    if (id === undefined) return false;
    this.#pending.extend(id);
    return true;
  }

  /** The client is initialized, so questions can be sent. */
  open(): void {
    const held = this.#held;
    this.#held = undefined;
    for (const send of held?.values() ?? []) send();
  }

  /** No more answers will come. */
  close(reason: Error): void {
    this.#pending.close(reason);
  }

  /** @throws RpcError if the client cannot be asked this. */
  #translated(method: string, params: JsonObject): LegacyQuestion {
    const { revision, capabilities } = this.#connection.caller;
    const profile = REVISIONS[revision];
    const missing = missingCapability(method, params, capabilities, profile);
    if (missing) {
      throw new RpcError(
        ErrorCode.MethodNotFound,
        quoting`${method} was not sent: the client does not have the ${missing} capability`,
      );
    }
    return toLegacyQuestion(method, params, profile, this.#room);
  }

  /** The server SHOULD NOT send requests before the client is initialized (basic/lifecycle: Initialization). */
  #send(message: Request, related: RequestId | undefined): Promise<void> {
    const send = (): Promise<void> => this.#transport.send(message, { relatedRequestId: related });
    const held = this.#held;
    if (!held) return send();
    return new Promise((resolve, reject) => {
      held.set(message.id, () => void send().then(resolve, reject));
    });
  }
}
