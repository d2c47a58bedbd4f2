import type { OfficialClient } from './clients.ts';

type JsonObject = Record<string, any>;

/** Milliseconds to wait for a message. */
const TIMEOUT = 10_000;

const ANSWERED_BY: Readonly<Record<string, keyof OfficialClient['answers']>> = {
  'sampling/createMessage': 'sampling',
  'elicitation/create': 'elicitation',
  'roots/list': 'roots',
};

/** The messages between a raw client and a server, in order. */
export class Recording {
  readonly sent: JsonObject[] = [];
  readonly received: JsonObject[] = [];
  readonly notices: { method: string; params?: JsonObject }[] = [];
  readonly questions: { method: string; params?: JsonObject }[] = [];
  readonly errors: Error[] = [];
  readonly answers: OfficialClient['answers'] = {
    sampling: () => ({ role: 'assistant', content: { type: 'text', text: 'a sampled text' }, model: 'test-model' }),
    elicitation: ({ mode }) => (mode === 'url' ? { action: 'accept' } : { action: 'accept', content: { name: 'Ada' } }),
    roots: () => ({ roots: [{ uri: 'file:///tmp/project', name: 'project' }] }),
  };
  readonly #waiting = new Set<() => void>();

  /** Records a message of the server. */
  protected take(message: JsonObject): void {
    this.received.push(message);
    const { method, id } = message;
    if (method !== undefined && id === undefined && method !== 'notifications/progress') {
      this.notices.push(message as { method: string });
    }
    for (const look of [...this.#waiting]) look();
  }

  /** The client's answer to a question. Undefined if the client does not know the question. */
  protected answerTo({ method, params }: JsonObject): JsonObject | undefined {
    this.questions.push({ method, ...(params === undefined ? {} : { params }) });
    const kind = ANSWERED_BY[method];
    return kind && this.answers[kind](params ?? {});
  }

  /** Calls back with every later message, until the returned function is called. */
  protected watch(onmessage: (message: JsonObject) => void): () => void {
    let seen = this.received.length;
    const look = (): void => {
      while (seen < this.received.length) onmessage(this.received[seen++]!);
    };
    this.#waiting.add(look);
    return () => void this.#waiting.delete(look);
  }

  readonly notice: OfficialClient['notice'] = async (method, fits = () => true, from = 0) => {
    const notice = (message: JsonObject): boolean =>
      message['method'] === method &&
      fits(message['params'] ?? {}) &&
      this.notices.indexOf(message as { method: string }) >= from;
    return (await this.message(notice, method))['params'] ?? {};
  };

  /** The first message that matches, from the beginning. */
  message(fits: (message: JsonObject) => boolean, what: string): Promise<JsonObject> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const found = this.received.find(fits);
        if (!found) return;
        clearTimeout(timer);
        this.#waiting.delete(look);
        resolve(found);
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(look);
        reject(new Error(`No ${what} within ${TIMEOUT} ms`));
      }, TIMEOUT);
      this.#waiting.add(look);
      look();
    });
  }

  /** The result of a request. @throws Error with the code and data of an error. */
  protected async resultOf(id: string | number, method: string): Promise<JsonObject> {
    const answers = (message: JsonObject): boolean => message['id'] === id && message['method'] === undefined;
    const { result, error } = await this.message(answers, `answer to ${method}`);
    if (error) throw Object.assign(new Error(error.message), { code: error.code, data: error.data });
    return result;
  }
}
