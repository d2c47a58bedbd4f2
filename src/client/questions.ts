import { joined } from '../base/abort.ts';
import { isPeerUrl, peerUrl } from '../base/peer-url.ts';
import { quoting } from '../base/short-text.ts';
import { waitFor } from '../base/wait.ts';
import type { AskOptions } from '../core/exchange.ts';
import { ELICIT_ACTIONS } from '../core/questions.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { missingCapability } from '../protocol/capabilities.ts';
import { McpErrorCode } from '../protocol/errors.ts';
import { Method } from '../protocol/methods.ts';
import { REVISIONS, type Revision } from '../protocol/revisions.ts';
import { checkMessages } from '../protocol/sampling-rules.ts';
import type { SampleParams } from '../protocol/sampling.ts';
import { filledIn } from './form-answer.ts';
import type { FormRequest, Handlers, QuestionContext, UrlRequest } from './handlers.ts';
import { UncheckedAnswer } from './unchecked-answer.ts';

/** The error codes for a question that no handler answers. The server should not have asked it. */
const UNANSWERABLE: ReadonlySet<number> = new Set([
  ErrorCode.MethodNotFound,
  McpErrorCode.MissingRequiredClientCapability,
]);

/** The capabilities that an application with these handlers declares. */
export function capabilitiesOf({ onelicit, onsample, onroots, sampling = {} }: Handlers): JsonObject {
  const capabilities: JsonObject = {};
  const { form, url } = elicitation(onelicit);
  if (form ?? url) capabilities['elicitation'] = { ...(form && { form: {} }), ...(url && { url: {} }) };
  if (onsample) {
    capabilities['sampling'] = { ...(sampling.tools && { tools: {} }), ...(sampling.context && { context: {} }) };
  }
  if (onroots) capabilities['roots'] = { listChanged: true };
  return capabilities;
}

/** Answers an accepted question, unless the signal or that of the options fires before. */
export type Answer = (signal: AbortSignal, options?: AskOptions) => Promise<JsonObject>;

type Handler = (context: QuestionContext) => Promise<JsonObject>;

/** Answers a server's questions with the application's handlers. */
export class Questions {
  readonly capabilities: JsonObject;
  readonly #handlers: Handlers;
  readonly #onerror: (error: Error) => void;

  constructor(handlers: Handlers, onerror: (error: Error) => void) {
    this.#handlers = handlers;
    this.#onerror = onerror;
    this.capabilities = capabilitiesOf(handlers);
  }

  /**
   * Accepts a question in the middle of a request. Refuses at once what no handler gets, so such a question takes no time.
   *
   * @returns the function that answers it. It throws (rejects) RpcError for the server: −32603 without details if the handler
   * failed; or the handler's own `RpcError`.
   * @throws RpcError for the server: −32601 if there is no handler for this method, −32602 if the question is invalid or
   * its mode was not declared.
   */
  accept(during: string, method: string, params: JsonObject, revision: Revision): Answer {
    try {
      const missing = missingCapability(method, params, this.capabilities, REVISIONS[revision]);
      if (missing !== undefined) throw undeclared(method, missing, revision);
      const handler = this.#handlerOf(method, params);
      return (signal, options) => this.#answer(during, method, handler, signal, options);
    } catch (error) {
      if (error instanceof RpcError) this.#reportUnanswerable(error);
      throw error;
    }
  }

  async #answer(
    during: string,
    method: string,
    handler: Handler,
    signal: AbortSignal,
    options: AskOptions = {},
  ): Promise<JsonObject> {
    const { signal: taken, release } = joined(signal, options.signal);
    try {
      taken.throwIfAborted();
      return await waitFor(handler({ signal: taken, method: during, key: options.key }), { signal: taken });
    } catch (error) {
      if (error instanceof UncheckedAnswer) return error.answer;
      if (error instanceof RpcError) {
        this.#reportUnanswerable(error);
        throw error;
      }
      if (signal.aborted || options.signal?.aborted) throw error;
      // A handler's error may contain details that a server should not see.
      const failed = new RpcError(ErrorCode.InternalError, quoting`The client could not answer ${method}`, {
        cause: error,
      });
      this.#onerror(failed);
      throw failed;
    } finally {
      release();
    }
  }

  #reportUnanswerable(error: RpcError): void {
    if (error.cause !== undefined || UNANSWERABLE.has(error.code)) this.#onerror(error);
  }

  /** What answers a question. @throws RpcError if the question is invalid, or nothing answers it. */
  #handlerOf(method: string, params: JsonObject): Handler {
    const { onelicit, onsample, onroots } = this.#handlers;
    switch (method) {
      case Method.Elicit: {
        const { form, url } = elicitation(onelicit);
        if (params['mode'] === 'url' && url) {
          const visit = urlRequest(params);
          return async (context) => checkedVisit(await url(visit, context));
        }
        if (params['mode'] !== 'url' && form) {
          const request = formRequest(params);
          return async (context) => checkedForm(request, await form(request, context), this);
        }
        break;
      }
      case Method.CreateMessage:
        if (onsample) {
          const sample = sampleParams(params);
          return async (context) => checkedSample({ ...(await onsample(sample, context)) });
        }
        break;
      case Method.ListRoots:
        if (onroots) return async (context) => checkedRoots(await onroots(context));
    }
    throw new RpcError(ErrorCode.MethodNotFound, quoting`Method not found: this client does not answer ${method}`);
  }
}

function elicitation(onelicit: Handlers['onelicit']): Exclude<Handlers['onelicit'], Function | undefined> {
  return typeof onelicit === 'function' ? { form: onelicit } : (onelicit ?? {});
}

/** A mode that was not declared counts as an invalid parameter (2025-11-25, client/elicitation: Error Handling). */
function undeclared(method: string, capability: string, revision: Revision): RpcError {
  const isMode = capability.includes('.');
  const legacy = isMode ? ErrorCode.InvalidParams : ErrorCode.MethodNotFound;
  return new RpcError(
    REVISIONS[revision].era === 'modern' ? McpErrorCode.MissingRequiredClientCapability : legacy,
    `${method} is refused: the client did not declare the ${capability} capability`,
  );
}

function formRequest(params: JsonObject): FormRequest {
  if (!isObject(params['requestedSchema'])) {
    throw new RpcError(ErrorCode.InvalidParams, 'elicitation/create needs an object "requestedSchema"');
  }
  return params as FormRequest;
}

async function checkedForm({ requestedSchema }: FormRequest, given: object, whose: Questions): Promise<JsonObject> {
  const { content, ...answer } = checkedAction(given);
  if (answer['action'] !== 'accept') return answer;
  return { ...answer, content: await filledIn(requestedSchema, content, whose) };
}

function urlRequest(params: JsonObject): UrlRequest {
  if (typeof params['url'] !== 'string' || !peerUrl(params['url'])) {
    throw new RpcError(ErrorCode.InvalidParams, 'elicitation/create needs a valid "url"');
  }
  return params as UrlRequest;
}

function checkedVisit(given: object): JsonObject {
  // Data that the user enters at the URL never passes through the client.
  const { content: _content, ...answer } = checkedAction(given);
  return answer;
}

function checkedAction(answer: unknown): JsonObject {
  if (!isObject(answer) || !ELICIT_ACTIONS.has(answer['action'])) {
    throw new TypeError('The action of an elicitation result must be accept, decline or cancel');
  }
  return answer;
}

/**
 * Checks what the handler's type guarantees, and the rules that servers must follow (2025-11-25, client/sampling: Error
 * Handling).
 */
function sampleParams(params: JsonObject): SampleParams {
  const { messages, maxTokens } = params;
  try {
    if (!Array.isArray(messages)) throw new TypeError('messages must be a list');
    if (typeof maxTokens !== 'number') throw new TypeError('maxTokens must be a number');
    checkMessages(messages);
  } catch (error) {
    throw new RpcError(ErrorCode.InvalidParams, `sampling/createMessage is refused: ${(error as Error).message}`);
  }
  return params as SampleParams;
}

function checkedSample(answer: JsonObject): JsonObject {
  const { role, content, model } = answer;
  if (typeof role !== 'string' || typeof model !== 'string' || typeof content !== 'object' || content === null) {
    throw new TypeError('A sampling result must have role, content and model');
  }
  return answer;
}

/** @throws TypeError that names a root that cannot be offered. */
export function checkedRoots(roots: unknown): JsonObject {
  if (!Array.isArray(roots)) throw new TypeError('The roots must be a list');
  const strange = roots.findIndex((root) => !isObject(root) || typeof root['uri'] !== 'string' || !isFile(root['uri']));
  if (strange >= 0) throw new TypeError(`The uri of roots[${strange}] must be a file:// URI without ".." in its path`);
  return { roots };
}

/** An encoded separator or dot could bypass checks of the path before it is decoded. */
const STEPS_UP = /(^|[/\\]|%2f|%5c)(\.|%2e){2}($|[/\\?#]|%2f|%5c)/i;

/** A root is a `file://` URI without path traversal (2025-11-25 and 2026-07-28, client/roots: Root, Security). */
function isFile(uri: string): boolean {
  return uri.startsWith('file://') && isPeerUrl(uri) && !STEPS_UP.test(uri);
}
