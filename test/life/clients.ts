import { onTestFinished } from 'vitest';
import { connect as connectOurs } from 'everwire/client';
import { connect as connectOfficial, State, type ClientKind, type Target } from '../interop/clients.ts';

type JsonObject = Record<string, any>;

/** A client of either era, ours or an official one. All support every kind of question. */
export type Kind =
  | 'official 1.x'
  | 'official 2.x, handshake'
  | 'official 2.x, 2026-07-28'
  | 'ours, handshake'
  | 'ours, 2026-07-28';
/** Both eras, in our client and in the official ones. */
export const KINDS: readonly Kind[] = [
  'official 1.x',
  'official 2.x, 2026-07-28',
  'ours, handshake',
  'ours, 2026-07-28',
];
export const isModern = (kind: Kind): boolean => kind.endsWith('2026-07-28');

const OFFICIAL: Partial<Record<Kind, ClientKind>> = {
  'official 1.x': 'sdk 1.x',
  'official 2.x, handshake': 'client 2.x legacy',
  'official 2.x, 2026-07-28': 'client 2.x modern',
};

/** Milliseconds to wait for a question. */
const TIMEOUT = 10_000;

export type Way = 'stdio' | 'http' | 'memory';

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Called when the server has started the call. */
  readonly onbegin?: () => void;
}

/** A form that waits for its answer. */
export interface Form {
  readonly message: string;
  answer(name: string): void;
}

export interface LifeClient {
  readonly kind: Kind;
  /** All forms that arrived, in order. */
  readonly forms: Form[];
  /** Resolves with the form that has this message when it arrives. */
  asked(message: string): Promise<Form>;
  /** Calls a tool. Resolves with the text of its result. */
  call(name: string, args?: JsonObject, options?: CallOptions): Promise<string>;
  /** Calls a tool that reports when it has started. */
  begin(
    name: string,
    args?: JsonObject,
    signal?: AbortSignal,
  ): { readonly begun: Promise<void>; readonly text: Promise<string> };
  /** The structured content of a result. */
  structured(name: string, args: JsonObject): Promise<JsonObject>;
  /** Subscribes to a resource. Resolves with a function that returns the number of changes so far. */
  subscribe(uri: string): Promise<() => number>;
  close(): Promise<void>;
}

/** A user who fills in forms when the test says so. */
class Person {
  readonly forms: Form[] = [];
  readonly #waiting = new Set<() => void>();

  readonly elicit = ({ message }: JsonObject): Promise<{ action: 'accept'; content: { name: string } }> =>
    new Promise((resolve) => {
      const answer = (name: string): void => resolve({ action: 'accept', content: { name } });
      this.forms.push({ message: String(message), answer });
      for (const look of this.#waiting) look();
    });

  readonly asked = (message: string): Promise<Form> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = this.forms.find((form) => form.message === message);
        if (!found) return;
        clearTimeout(timer);
        this.#waiting.delete(look);
        resolve(found);
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(look);
        reject(new Error(`Not asked "${message}", but ${JSON.stringify(this.forms)}`));
      }, TIMEOUT);
      this.#waiting.add(look);
      look();
    });
}

/** Connects a client with a unique name. It is closed after the test. */
export async function connect(kind: Kind, transport: Way, target: Target, name: string = kind): Promise<LifeClient> {
  const person = new Person();
  const info = { name, version: '1.0.0' };
  const calls = OFFICIAL[kind]
    ? await official(person, OFFICIAL[kind], transport, target, info)
    : await ours(person, isModern(kind) ? 'modern' : 'legacy', transport, target, info);
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => (closed ??= calls.close());
  onTestFinished(() => close().catch(() => {}));
  const call: LifeClient['call'] = async (tool, args = {}, options = {}) => {
    const result = await calls.result(tool, args, options);
    return result['content'][0].text;
  };
  return {
    kind,
    forms: person.forms,
    asked: person.asked,
    call,
    begin: (tool, args = {}, signal) => {
      let text!: Promise<string>;
      const begun = new Promise<void>((resolve, reject) => {
        text = call(tool, args, { ...(signal && { signal }), onbegin: resolve });
        text.catch(reject);
      });
      // Notifies those who wait for this form.
      begun.catch(() => {});
      text.catch(() => {});
      return { begun, text };
    },
    subscribe: (uri) => calls.subscribe(uri),
    structured: async (tool, args) => (await calls.result(tool, args, {}))['structuredContent'],
    close,
  };
}

interface Calls {
  result(tool: string, args: JsonObject, options: CallOptions): Promise<JsonObject>;
  subscribe(uri: string): Promise<() => number>;
  close(): Promise<void>;
}

type Info = { name: string; version: string };

async function official(person: Person, kind: ClientKind, transport: Way, target: Target, info: Info): Promise<Calls> {
  const client = await connectOfficial(kind, transport, target, { info });
  client.answers.elicitation = person.elicit;
  return {
    result: (name, args, { signal, onbegin }) =>
      client.callTool({ name, arguments: args }, { signal, ...(onbegin && { onprogress: onbegin }) }),
    subscribe: async (uri) => {
      await client.subscribe(uri);
      const isChange = ({ method, params }: JsonObject): boolean =>
        method === 'notifications/resources/updated' && params['uri'] === uri;
      return () => client.notices.filter(isChange).length;
    },
    close: () => client.close(),
  };
}

async function ours(
  person: Person,
  eras: 'legacy' | 'modern',
  transport: Way,
  { stdio, url, fetch, memory }: Target,
  clientInfo: Info,
): Promise<Calls> {
  const { answers } = new State();
  const command = { command: process.execPath, args: stdio, onstderr: () => {} };
  const client = await connectOurs(transport === 'http' ? url : transport === 'memory' ? await memory!() : command, {
    eras,
    clientInfo,
    ...(fetch && { fetch: (input, init) => fetch(new Request(input, init)) }),
    onelicit: person.elicit,
    onsample: () => answers.sampling({}) as never,
    onerror: () => {},
    onroots: () => answers.roots({})['roots'],
  });
  return {
    result: (name, args, { signal, onbegin }) =>
      client.callTool(name, args, { signal, ...(onbegin && { onprogress: onbegin }) }),
    subscribe: async (uri) => {
      let heard = 0;
      await client.subscribe(uri, () => (heard += 1));
      return () => heard;
    },
    close: () => client.close(),
  };
}
