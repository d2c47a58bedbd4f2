import type {
  FormHandler,
  FormRequest,
  Handlers,
  QuestionContext,
  UrlHandler,
  UrlRequest,
} from '../client/handlers.ts';
import { filledIn } from '../client/form-answer.ts';
import { UncheckedAnswer } from '../client/unchecked-answer.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { Method } from '../protocol/methods.ts';
import type { SampleParams, SampleResult } from '../protocol/sampling.ts';
import type { ElicitResult, Root } from '../protocol/types.ts';

/**
 * The answer to one kind of question: the same answer to each one, a list with one answer for each, or a function. When
 * the answers of a list are used up, the next question fails.
 */
export type Answer<Question, Result> =
  | Result
  | Unchecked
  | readonly (Result | Unchecked)[]
  | ((question: Question, context: QuestionContext) => Result | Unchecked | Promise<Result | Unchecked>);

/** An answer of `unchecked`. */
export type Unchecked = UncheckedAnswer;

/**
 * An answer that the client sends as it is, even if it is wrong: for tests of what the server does with it. Any other
 * answer is checked as those of a real client are.
 */
export function unchecked(answer: JsonObject): Unchecked {
  return new UncheckedAnswer(answer);
}

/**
 * The answers to the questions of a server, by the methods of `Context` that ask them. The client declares the
 * capabilities of those that are given. For all other questions, the server sees a client without the capability.
 */
export interface Answers {
  /** To forms. `'accept'` accepts with the form's defaults. */
  elicit?: Answer<FormRequest, ElicitResult | ElicitResult['action']> | undefined;
  /** To requests to open a URL. */
  elicitUrl?: Answer<UrlRequest, ElicitResult | ElicitResult['action']> | undefined;
  /** To requests for a message of the model. A string is the text of the message. */
  sample?: Answer<SampleParams, SampleResult | string> | undefined;
  /** The roots, the same each time; or a function. */
  roots?: readonly Root[] | ((context: QuestionContext) => readonly Root[] | Promise<readonly Root[]>) | undefined;
}

/** A question that the server asked. */
export type AskedQuestion =
  | { readonly method: 'elicitation/create'; readonly params: FormRequest | UrlRequest }
  | { readonly method: 'sampling/createMessage'; readonly params: SampleParams }
  | { readonly method: 'roots/list'; readonly params: Record<string, never> };

/** Handlers whose `onelicit` always has its two parts. */
interface AnsweringHandlers extends Handlers {
  onelicit?: { form?: FormHandler; url?: UrlHandler };
}

/**
 * The handlers of a client that gives these answers.
 *
 * @param asked gets each question before it is answered.
 * @param model the name of the model in answers that are only a text.
 */
export function handlersFor(
  { elicit, elicitUrl, sample, roots }: Answers,
  asked: (question: AskedQuestion) => void,
  model = 'test',
): AnsweringHandlers {
  const handlers: AnsweringHandlers = {};
  const onelicit: { form?: FormHandler; url?: UrlHandler } = {};
  if (elicit !== undefined) {
    const next = answering('elicit', elicit);
    onelicit.form = async (params, context) => {
      asked({ method: Method.Elicit, params });
      return fitting(params, elicitResult(await next(params, context)));
    };
  }
  if (elicitUrl !== undefined) {
    const next = answering('elicitUrl', elicitUrl);
    onelicit.url = async (params, context) => {
      asked({ method: Method.Elicit, params });
      return elicitResult(await next(params, context));
    };
  }
  if (onelicit.form ?? onelicit.url) handlers.onelicit = onelicit;
  if (sample !== undefined) {
    const next = answering('sample', sample);
    handlers.onsample = async (params, context) => {
      asked({ method: Method.CreateMessage, params });
      return sampleResult(await next(params, context), model);
    };
  }
  if (roots !== undefined) {
    handlers.onroots = (context) => {
      asked({ method: Method.ListRoots, params: {} });
      return typeof roots === 'function' ? roots(context) : roots;
    };
  }
  return handlers;
}

type Answering<Question, Result> = (question: Question, context: QuestionContext) => Promise<Result>;

/** @throws RpcError that says what is wrong with the answer. A client keeps this from the server. */
async function fitting(form: FormRequest, answer: ElicitResult): Promise<ElicitResult> {
  if (answer.action !== 'accept' || !isObject(form.requestedSchema)) return answer;
  try {
    await filledIn(form.requestedSchema, answer.content);
    return answer;
  } catch (error) {
    throw failed('elicit', `does not match the form: ${(error as Error).message}`);
  }
}

function failed(kind: keyof Answers, why: string): RpcError {
  return new RpcError(ErrorCode.InternalError, `The answer in answers.${kind} ${why}`);
}

function answering<Question extends object, Result extends string | object>(
  kind: keyof Answers,
  answer: Answer<Question, Result>,
): Answering<Question, Result> {
  const sent = (given: Result | Unchecked): Result => {
    if (given instanceof UncheckedAnswer) throw given;
    return given;
  };
  if (typeof answer === 'function') {
    return async (question, context) => {
      let given: Result | Unchecked;
      try {
        given = await answer(question, context);
      } catch (error) {
        throw error instanceof RpcError ? error : failed(kind, `cannot be given: ${RpcError.from(error).message}`);
      }
      return sent(given);
    };
  }
  if (!Array.isArray(answer)) return async () => sent(answer as Result | Unchecked);
  const list = [...(answer as readonly (Result | Unchecked)[])];
  let used = 0;
  return async (question) => {
    if (used < list.length) return sent(list[used++]!);
    const message = 'message' in question ? `: ${JSON.stringify(question.message)}` : '';
    throw new RpcError(
      ErrorCode.InternalError,
      `Unexpected question${message}. There are ${list.length} answers in answers.${kind}, and this is question ${list.length + 1}`,
    );
  };
}

function elicitResult(answer: ElicitResult | ElicitResult['action']): ElicitResult {
  return typeof answer === 'string' ? { action: answer } : answer;
}

function sampleResult(answer: SampleResult | string, model: string): SampleResult {
  if (typeof answer !== 'string') return answer;
  return { role: 'assistant', model, stopReason: 'endTurn', content: { type: 'text', text: answer } };
}
