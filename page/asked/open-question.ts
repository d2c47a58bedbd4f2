import type { Explorer } from '../explore/explorer.ts';
import { isObject, type JsonObject } from '../../src/jsonrpc/message.ts';

/** The user's answer to a question. */
export type Answer = { readonly result: JsonObject } | { readonly refusal: string };

/** A question of the server that waits for the user. */
export interface OpenQuestion {
  /** Identifies it. */
  readonly key: string;
  readonly method: string;
  readonly params: JsonObject;
  /** When it came, if that is known. */
  readonly received?: Date;
  /** The task that asks, if it is one. */
  readonly task?: string;
  /** @throws Error if the answer does not match the question. The question stays open then. */
  answer(answer: Answer): Promise<void>;
}

/** The questions of the server, and those of the tasks that the page follows. */
export function openQuestions({ server, state, session }: Explorer): OpenQuestion[] {
  const asked = state.value.questions.map(({ id, method, params, received }): OpenQuestion => {
    return {
      ...{ key: `question ${id}`, method, params, received: new Date(received) },
      answer: (answer) => {
        const given = 'result' in answer ? { result: answer.result } : { error: { message: answer.refusal } };
        return server.send('answer', { question: id, ...given });
      },
    };
  });
  const ofTasks = (session.value?.tasks.value ?? []).flatMap((task) =>
    Object.entries(task.view.value.questions).map(([key, question]): OpenQuestion => {
      const { method, params } = isObject(question) ? question : {};
      return {
        key: `task ${task.id} ${key}`,
        method: typeof method === 'string' ? method : '',
        params: isObject(params) ? params : {},
        task: task.id,
        // A question of a task cannot be refused with an error: only its result goes into tasks/update.
        answer: (answer) => task.answer(key, 'result' in answer ? answer.result : { action: 'decline' }),
      };
    }),
  );
  return [...asked, ...ofTasks];
}
