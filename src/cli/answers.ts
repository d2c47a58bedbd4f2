import { suggestion } from '../base/nearest.ts';
import { filledIn } from '../client/form-answer.ts';
import type { FormRequest, Handlers } from '../client/handlers.ts';
import { ELICIT_ACTIONS } from '../core/questions.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { isObject } from '../jsonrpc/message.ts';
import { Method } from '../protocol/methods.ts';
import type { ElicitResult } from '../protocol/types.ts';
import { handlersFor } from '../testing/answers.ts';
import { Failure } from './failure.ts';
import { readJson } from './json-value.ts';

interface Kind {
  readonly fits: (answer: unknown) => boolean;
  /** What an answer must be. */
  readonly what: string;
}

const ELICIT: Kind = {
  fits: (answer) => ELICIT_ACTIONS.has(isObject(answer) ? answer['action'] : answer),
  what: '"accept", "decline", "cancel", or an object with one of them as "action"',
};

const SAMPLE: Kind = {
  fits: (answer) =>
    typeof answer === 'string' ||
    (isObject(answer) && ['role', 'content', 'model'].every((name) => answer[name] !== undefined)),
  what: 'a text, or an object with role, content and model',
};

const KINDS: ReadonlyMap<string, Kind> = new Map([
  ['elicit', ELICIT],
  ['elicitUrl', ELICIT],
  ['sample', SAMPLE],
]);

/**
 * The handlers for `--answers`, which are the `answers` of `testClient` as JSON.
 *
 * @param given JSON, `@file` or `-` for stdin.
 * @param print tells the user why an answer was not sent. The server learns only that there is none.
 * @throws Failure with code 2 for answers that no question can have.
 */
export async function answersFrom(given: string, print: (text: string) => void): Promise<Handlers> {
  const answers = await readJson('--answers', 'answers', given);
  for (const [kind, answer] of Object.entries<unknown>(answers)) check(kind, answer);
  const { onelicit, onsample } = handlersFor(answers, () => {}, 'everwire --answers');
  const { form, url } = onelicit ?? {};
  const filled = form && (async (...asked: Parameters<typeof form>) => fitting(asked[0], await form(...asked)));
  return {
    ...(onelicit && {
      onelicit: {
        form: filled && telling(print, Method.Elicit, filled),
        url: url && telling(print, Method.Elicit, url),
      },
    }),
    ...(onsample && { onsample: telling(print, Method.CreateMessage, onsample) }),
  };
}

function check(kind: string, answer: unknown): void {
  const known = KINDS.get(kind);
  if (!known) {
    const more = kind === 'roots' ? '; offer roots with --root' : suggestion(kind, KINDS.keys());
    throw Failure.usage(`--answers has the unknown key ${JSON.stringify(kind)}${more}`);
  }
  const list: readonly unknown[] = Array.isArray(answer) ? answer : [answer];
  const wrong = list.find((each) => !known.fits(each));
  if (wrong === undefined) return;
  throw Failure.usage(
    `${kind} in --answers must be ${known.what}, or a list of such answers, not ${JSON.stringify(wrong)}`,
  );
}

/** @throws TypeError that names the question and the field that is wrong. */
async function fitting({ message, requestedSchema }: FormRequest, answer: ElicitResult): Promise<ElicitResult> {
  if (answer.action !== 'accept') return answer;
  try {
    return { ...answer, content: await filledIn(requestedSchema, answer.content) };
  } catch (error) {
    const why = (error as Error).message;
    throw new TypeError(`the answer to ${JSON.stringify(message)} does not match the form: ${why}`, { cause: error });
  }
}

function telling<Asked extends unknown[], Result>(
  print: (text: string) => void,
  method: string,
  handler: (...asked: Asked) => Result | Promise<Result>,
): (...asked: Asked) => Promise<Result> {
  return async (...asked) => {
    try {
      return await handler(...asked);
    } catch (error) {
      print((error as Error).message);
      // Without a cause: the user knows why already.
      throw new RpcError(ErrorCode.InternalError, `The client could not answer ${method}`);
    }
  };
}
