import { Call } from '../client/call.ts';
import { abortReason, isAborted, offAbort, onAbort } from '../core/base-exchange.ts';
import { derive, type ExchangeChanges } from '../core/derive.ts';
import { NotAsked, type AskOptions, type Exchange, type Middleware, type Service } from '../core/exchange.ts';
import { invoke } from '../core/invoke.ts';
import type { Breakpoints, Decision, Passage, PassingMessage } from '../inspect/breakpoints/breakpoints.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { weightOf } from '../jsonrpc/weight.ts';
import { Method } from '../protocol/methods.ts';
import type { Implementation } from '../protocol/types.ts';
import { parseAnswer, parseRequest, textOf, type Answer, type Content, type Sent } from './message-text.ts';

/** A larger message is never held, so its exact size does not matter. Bytes. */
const MAX_WEIGHT = 64 * 1024 * 1024;
/** How much of the name of a program is used, and of its version. In UTF-16 code units. */
const MAX_NAME = 100;

/**
 * Lets breakpoints decide about each message of a service: requests, notifications, questions and answers. Calls that
 * begin before there can be rules pass untouched, because this would cost each of them 5 µs. Subscriptions do not: they
 * last.
 */
export function intercept(breakpoints: Breakpoints): Middleware {
  return (next) => (exchange) =>
    breakpoints.isIdle && exchange.method !== Method.Listen
      ? next(exchange)
      : new InterceptedCall(breakpoints, next, exchange).run();
}

/** What is known about a message in addition to its call. */
interface About extends Pick<PassingMessage, 'dir' | 'kind' | 'method'> {
  readonly content: Content;
  readonly parse: (text: string) => Content;
}

/** One call, whose messages in both directions pass the breakpoints. */
class InterceptedCall {
  readonly #breakpoints: Breakpoints;
  readonly #next: Service;
  readonly #exchange: Exchange;
  readonly #asked = Date.now();

  constructor(breakpoints: Breakpoints, next: Service, exchange: Exchange) {
    this.#breakpoints = breakpoints;
    this.#next = next;
    this.#exchange = exchange;
  }

  run(): Promise<JsonObject> {
    const { method, params } = this.#exchange;
    const passage = this.#pass('c>s', this.#isNotification ? 'notification' : 'request', { method, params });
    return passage ? this.#request(passage) : this.#send({});
  }

  /** Notifications that belong to no call are exchanges too. */
  get #isNotification(): boolean {
    return this.#exchange.method.startsWith('notifications/');
  }

  #request(passage: Passage): Promise<JsonObject> {
    return this.#decide(passage, (decision) => {
      if (decision.type === 'drop') return this.#isNotification ? {} : this.#unanswered();
      if (decision.type === 'answer') return outcomeOf(decision.content as Answer);
      const changes = (decision.content ?? {}) as Partial<Sent>;
      const result = this.#send(changes);
      // Nobody waits for the second result.
      if (decision.twice) this.#call(changes).catch(() => {});
      return result;
    });
  }

  #send(changes: Partial<Sent>): Promise<JsonObject> {
    const called = this.#call(changes);
    if (this.#isNotification) return called;
    return called.then(
      (result) => {
        const passage = this.#pass('s>c', 'result', { result });
        return passage ? this.#answer(passage, { result }) : result;
      },
      (error: unknown) => {
        if (isAborted(this.#exchange)) throw error;
        const passage = this.#pass('s>c', 'error', { error: errorOf(error) });
        if (!passage) throw error;
        return this.#answer(passage, error);
      },
    );
  }

  #call(changes: Partial<Sent>): Promise<JsonObject> {
    const { notify, ask } = this;
    const changed: ExchangeChanges = { ...changes, notify, ask };
    return invoke(this.#next, derive(this.#exchange, changed));
  }

  /** @param original the answer if it is not changed: an object with the result, or what is thrown. */
  #answer(passage: Passage, original: unknown): Promise<JsonObject> {
    return this.#decide(passage, (decision) => {
      if (decision.type === 'drop') return this.#unanswered();
      if (decision.content !== undefined) return outcomeOf(decision.content as Answer);
      if (original instanceof Error) throw original;
      return (original as { readonly result: JsonObject }).result;
    });
  }

  readonly notify: Exchange['notify'] = (method, params) => {
    const exchange = this.#exchange;
    const sent: Sent = { method, params: params ?? {} };
    const passage = this.#pass('s>c', 'notification', sent);
    if (!passage) return exchange.notify(method, params);
    const accepted = this.#decide(passage, async (decision) => {
      if (decision.type !== 'forward') return;
      const { method: name, params: content } = (decision.content ?? sent) as Sent;
      await Promise.all([exchange.notify(name, content), decision.twice && exchange.notify(name, content)]);
    });
    // The creator of the exchange reports it.
    accepted.catch(() => {});
    return accepted;
  };

  readonly ask: Exchange['ask'] = async (method, params, options) => {
    const sent: Sent = { method, params };
    const passage = this.#pass('s>c', 'request', sent);
    if (!passage) return this.#ask(sent, options);
    return this.#decide(
      passage,
      (decision) => {
        if (decision.type === 'answer') return outcomeOf(decision.content as Answer);
        if (decision.type === 'drop') return this.#unanswered(options?.signal);
        const changed = (decision.content ?? sent) as Sent;
        const answer = this.#ask(changed, options);
        // Nobody waits for the second answer. A key may be used only once.
        if (decision.twice)
          this.#exchange.ask(changed.method, changed.params, { ...options, key: undefined }).catch(() => {});
        return answer;
      },
      options?.signal,
    );
  };

  #ask({ method, params }: Sent, options: AskOptions | undefined): Promise<JsonObject> {
    return this.#exchange.ask(method, params, options).then(
      (result) => {
        const passage = this.#pass('c>s', 'result', { result }, method);
        return passage ? this.#answer(passage, { result }) : result;
      },
      (error: unknown) => {
        if (isAborted(this.#exchange) || error instanceof NotAsked) throw error;
        const passage = this.#pass('c>s', 'error', { error: errorOf(error) }, method);
        if (!passage) throw error;
        return this.#answer(passage, error);
      },
    );
  }

  /** @param method of the request that is answered. Default: that of the call. */
  #pass(
    dir: PassingMessage['dir'],
    kind: PassingMessage['kind'],
    content: Content,
    method = 'method' in content ? content.method : this.#exchange.method,
  ): Passage | undefined {
    const parse = 'method' in content ? parseRequest : parseAnswer;
    return this.#breakpoints.pass(() => this.#message({ dir, kind, method, content, parse }));
  }

  #message({ dir, kind, method, content, parse }: About): PassingMessage {
    const exchange = this.#exchange;
    const { session, principal, clientInfo } = exchange.caller;
    const client = programOf(clientInfo);
    const isAnswer = kind === 'result' || kind === 'error';
    // The question of a server is the other way round: its client does not wait for it.
    const isOfClient = (dir === 'c>s') === !isAnswer;
    return {
      ...{ dir, kind, method, content, parse, asked: this.#asked },
      tool: method === Method.CallTool ? toolOf(exchange.params) : undefined,
      client: isOfClient ? client : undefined,
      order: session ?? JSON.stringify([principal, client]),
      call: dir === 's>c' ? exchange : undefined,
      dur: isAnswer && isOfClient ? (Date.now() - this.#asked) * 1000 : undefined,
      expires: exchange instanceof Call ? exchange.expiresAt : undefined,
      size: () => weightOf(content, MAX_WEIGHT),
      text: () => textOf(content),
      parseAnswer: kind === 'request' ? parseAnswer : undefined,
    };
  }

  /** Acts as it is decided, unless the call or the signal ends before. */
  #decide<T>(passage: Passage, act: (decision: Decision) => T | Promise<T>, signal?: AbortSignal): Promise<T> {
    const exchange = this.#exchange;
    return new Promise((resolve, reject) => {
      const cancel = (): void => {
        const reason: unknown = isAborted(exchange) ? abortReason(exchange) : signal?.reason;
        passage.cancel(reason instanceof Error ? reason.message : 'Cancelled');
      };
      onAbort(exchange, cancel);
      signal?.addEventListener('abort', cancel);
      passage.decided((decision) => {
        offAbort(exchange, cancel);
        signal?.removeEventListener('abort', cancel);
        void invoked(act, decision).then(resolve, reject);
        if (decision.type === 'forward' && decision.kills) this.#breakpoints.kill();
      });
      if (isAborted(exchange) || signal?.aborted) cancel();
    });
  }

  /** There is no answer until the call or the signal ends. */
  #unanswered(signal?: AbortSignal): Promise<never> {
    const exchange = this.#exchange;
    return new Promise((_, reject) => {
      const end = (): void => reject((isAborted(exchange) ? abortReason(exchange) : signal?.reason) as Error);
      if (isAborted(exchange) || signal?.aborted) return end();
      onAbort(exchange, end);
      signal?.addEventListener('abort', end);
    });
  }
}

/** Calls a function at once. What it throws becomes a rejection. */
async function invoked<T>(act: (decision: Decision) => T | Promise<T>, decision: Decision): Promise<T> {
  return act(decision);
}

/** @throws RpcError if it is an error. */
function outcomeOf(answer: Answer): JsonObject {
  if ('result' in answer) return answer.result;
  const { code, message, data } = answer.error;
  throw new RpcError(code, message, { data });
}

function errorOf(thrown: unknown): Extract<Answer, { error: unknown }>['error'] {
  const { code, message, data } = RpcError.from(thrown);
  return { code, message, data };
}

/** The name and version of a program, as it says. Peers may send anything. */
function programOf(info: Implementation | undefined): string | undefined {
  const { name, version }: { name?: unknown; version?: unknown } = info ?? {};
  const texts = [name, version].filter((text) => typeof text === 'string');
  return texts.length === 0 ? undefined : texts.map((text) => text.slice(0, MAX_NAME)).join(' ');
}

function toolOf({ name }: JsonObject): string | undefined {
  return typeof name === 'string' ? name : undefined;
}
