import { signal, type ReadonlySignal } from '@preact/signals';
import { peerUrl } from '../../src/base/peer-url.ts';
import { MAX_APP_MESSAGE } from '../../src/inspect/page-server/apps-api.ts';
import { ErrorCode } from '../../src/jsonrpc/errors.ts';
import { isObject, type JsonObject, type JsonValue, type RequestId } from '../../src/jsonrpc/message.ts';
import { VERSION } from '../../src/version.ts';
import { readMessage } from './app-message.ts';

/** The revision of MCP Apps. */
const REVISION = '2026-01-26';
/** What an app may ask the server itself. */
const PASSED: ReadonlySet<string> = new Set([
  'tools/call',
  'tools/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'prompts/list',
]);
/** An app that sends more messages or characters in a second is stopped. */
const MAX_PER_SECOND = 500;
const MAX_LENGTH_PER_SECOND = 4 * 1024 * 1024;
/** The most requests of an app at a time. */
const MAX_REQUESTS = 32;
/** The most links that wait for the user. */
const MAX_LINKS = 3;
/** The most notes that are kept. Wire has all of them, and all of their text. */
const MAX_NOTES = 20;
/** The longest text of a note. UTF-16 code units. */
const MAX_NOTE = 500;
/** The largest height of an app. Pixels. */
export const MAX_HEIGHT = 2000;
/** The code of a refusal in the examples of the specification. */
const REFUSED = -32_000;

/** The answer to a request. */
export type Answer = { readonly result: JsonObject } | { readonly error: AnswerError };

interface AnswerError {
  readonly code: number;
  readonly message: string;
  readonly data?: JsonValue | undefined;
}

/** A request to the server, for an app. */
export interface ServerRequest {
  readonly answered: Promise<Answer>;
  cancel(): void;
}

/** What an app host needs from outside. */
export interface AppPort {
  /** Sends a message to the app. */
  post(message: JsonObject): void;
  /** Called with each message, as JSON text. */
  record(from: 'app' | 'host', text: string): void;
  /** Sends a request to the server. */
  request(method: string, params: JsonObject): ServerRequest;
  /** Why an app must not call a tool. Undefined if it may. */
  whyNotCall(tool: unknown): Promise<string | undefined>;
  /** What the app learns about its surroundings. */
  context(): JsonObject;
  /** The domains and so on that the app may use. */
  readonly sandbox: JsonObject;
  /** Called when the app asks to be closed. */
  onclose(): void;
}

/**
 * - `loading`: its document is loading.
 * - `starting`: it has sent `ui/initialize`.
 * - `ready`: it has sent `ui/notifications/initialized`.
 * - `stopped`: it has done what it must not do, or it was closed.
 */
export type AppStatus = 'loading' | 'starting' | 'ready' | 'stopped';

/** Something that the app has sent to the host, to show to the user. */
export interface Note {
  /** Counts the notes of the app. */
  readonly number: number;
  readonly kind: 'message' | 'log' | 'refused';
  readonly title: string;
  readonly text: string;
}

/** A link that the app wants to open. */
export interface LinkRequest {
  readonly url: string;
  answer(opened: boolean): void;
}

/** The host of one app: speaks MCP Apps 2026-01-26 with it. It has no access to the page. */
export class AppHost {
  readonly #port: AppPort;
  readonly #status = signal<AppStatus>('loading');
  readonly #height = signal<number | undefined>(undefined);
  readonly #notes = signal<readonly Note[]>([]);
  readonly #links = signal<readonly LinkRequest[]>([]);
  readonly #modelContext = signal<JsonObject | undefined>(undefined);
  readonly #why = signal<string | undefined>(undefined);
  readonly #name = signal<string | undefined>(undefined);
  /** The requests of the app that are not answered. */
  readonly #requests = new Map<string, { cancel(): void }>();
  /** What the app gets as soon as it is ready. */
  #input: JsonObject | undefined;
  #ending: JsonObject | undefined;
  #torndown: (() => void) | undefined;
  /** When the current second began, and what came in it. */
  #second = -Infinity;
  #count = 0;
  #length = 0;

  constructor(port: AppPort) {
    this.#port = port;
  }

  get status(): ReadonlySignal<AppStatus> {
    return this.#status;
  }
  /** What the app calls itself. */
  get name(): ReadonlySignal<string | undefined> {
    return this.#name;
  }
  /** The height that the app wants. Pixels. */
  get height(): ReadonlySignal<number | undefined> {
    return this.#height;
  }
  /** The newest, the oldest of them first. */
  get notes(): ReadonlySignal<readonly Note[]> {
    return this.#notes;
  }
  get links(): ReadonlySignal<readonly LinkRequest[]> {
    return this.#links;
  }
  /** What the app wants a model to know. */
  get modelContext(): ReadonlySignal<JsonObject | undefined> {
    return this.#modelContext;
  }
  /** Why the app was stopped. Undefined if the user has closed it. */
  get why(): ReadonlySignal<string | undefined> {
    return this.#why;
  }

  /**
   * Takes a message of the app.
   *
   * @param data the message as JSON text, or null for one that is too large. The caller has checked its source and its origin.
   * @param now milliseconds.
   */
  receive(data: unknown, now: number): void {
    if (!this.count(now)) return;
    const message = readMessage(data);
    if (message === 'large') {
      const max = MAX_APP_MESSAGE / 1024 ** 2;
      return this.stop(`It sent a message of more than ${max} Mi characters, or more than ${max} MiB in memory.`);
    }
    if (!message) return this.#note('refused', 'A message', 'It is not a JSON-RPC message.');
    const { text, id, method, params } = message;
    this.#length += text.length;
    if (this.#length > MAX_LENGTH_PER_SECOND)
      return this.stop(`It sent more than ${MAX_LENGTH_PER_SECOND / 1024 ** 2} Mi characters in a second.`);
    // These are for the frame around the app (MCP Apps 2026-01-26, Sandbox proxy).
    if (method?.startsWith('ui/notifications/sandbox-')) return;
    this.#port.record('app', text);
    if (method === undefined) this.#torndown?.();
    else if (id === undefined) this.#notification(method, params);
    else this.#request(id, method, params);
  }

  /**
   * Counts a message of the app, also one that it has sent to the page past the frame around it.
   *
   * @param now milliseconds.
   * @returns whether the app may go on.
   */
  count(now: number): boolean {
    if (this.#status.value === 'stopped') return false;
    if (now - this.#second >= 1000) [this.#second, this.#count, this.#length] = [now, 0, 0];
    this.#count += 1;
    if (this.#count <= MAX_PER_SECOND) return true;
    this.stop(`It sent more than ${MAX_PER_SECOND} messages in a second.`);
    return false;
  }

  /** The arguments of the tool call that the app shows. */
  toolInput(args: JsonObject): void {
    this.#input = { arguments: args };
    this.#notify('ui/notifications/tool-input', this.#input);
  }

  toolResult(result: JsonObject): void {
    this.#end('ui/notifications/tool-result', result);
  }

  toolCancelled(reason: string): void {
    this.#end('ui/notifications/tool-cancelled', { reason });
  }

  contextChanged(context: JsonObject): void {
    this.#notify('ui/notifications/host-context-changed', context);
  }

  /** Tells the app that it will be closed. Resolves when it has answered. */
  async teardown(): Promise<void> {
    if (this.#status.value !== 'ready') return;
    const answered = new Promise<void>((resolve) => (this.#torndown = resolve));
    this.#post({ jsonrpc: '2.0', id: 'teardown', method: 'ui/resource-teardown', params: { reason: 'closed' } });
    await answered;
  }

  /** Takes and sends no more messages. @param why undefined if the user wanted it. */
  stop(why?: string): void {
    if (this.#status.value === 'stopped') return;
    this.#status.value = 'stopped';
    this.#why.value = why;
    this.#links.value = [];
    this.#cancelAll();
    this.#torndown?.();
  }

  #end(method: string, params: JsonObject): void {
    this.#ending = { method, params };
    this.#notify(method, params);
  }

  #notification(method: string, params: JsonObject): void {
    switch (method) {
      case 'ui/notifications/initialized':
        if (this.#status.value !== 'starting') return;
        this.#status.value = 'ready';
        if (this.#input) this.#notify('ui/notifications/tool-input', this.#input);
        if (this.#ending) this.#notify(this.#ending['method'] as string, this.#ending['params'] as JsonObject);
        return;
      case 'ui/notifications/size-changed': {
        const { height } = params as { height?: unknown };
        if (typeof height === 'number' && height >= 0) this.#height.value = Math.min(Math.ceil(height), MAX_HEIGHT);
        return;
      }
      case 'ui/notifications/request-teardown':
        return this.#port.onclose();
      case 'notifications/message':
        return this.#note('log', `Log ${textOf(params['level'])}`, params['data']);
      case 'notifications/cancelled': {
        const key = JSON.stringify(params['requestId']);
        this.#requests.get(key)?.cancel();
        this.#requests.delete(key);
        return;
      }
      default:
    }
  }

  #request(id: RequestId, method: string, params: JsonObject): void {
    if (method === 'ping') return this.#answer(id, { result: {} });
    if (method === 'ui/initialize') return this.#initialize(id, params);
    if (this.#status.value !== 'ready')
      return this.#refuse(id, method, 'Send ui/notifications/initialized first.', ErrorCode.InvalidRequest);
    switch (method) {
      case 'ui/open-link':
        return this.#openLink(id, params['url']);
      case 'ui/message':
        this.#note('message', `Message as ${textOf(params['role'])}`, readable(params['content']));
        return this.#answer(id, { result: {} });
      case 'ui/update-model-context':
        this.#modelContext.value = params;
        return this.#answer(id, { result: {} });
      case 'ui/request-display-mode':
        return this.#answer(id, { result: { mode: 'inline' } });
      default:
        if (PASSED.has(method)) return void this.#pass(id, method, params);
        this.#refuse(id, method, 'This host does not support the method.', ErrorCode.MethodNotFound);
    }
  }

  /** A view that loads itself again begins anew. */
  #initialize(id: RequestId, { appInfo }: JsonObject): void {
    this.#cancelAll();
    // The ids of the new view may be those of the old one.
    this.#links.value = [];
    this.#status.value = 'starting';
    const { title, name } = (appInfo ?? {}) as Readonly<Record<string, unknown>>;
    this.#name.value = [title, name].find((text): text is string => typeof text === 'string');
    const contents = { text: {}, image: {}, audio: {}, resource: {}, resourceLink: {}, structuredContent: {} };
    this.#answer(id, {
      result: {
        protocolVersion: REVISION,
        hostInfo: { name: 'Everwire inspector', version: VERSION },
        hostCapabilities: {
          ...{ openLinks: {}, serverTools: {}, serverResources: {}, logging: {} },
          ...{ message: contents, updateModelContext: contents, sandbox: this.#port.sandbox },
        },
        hostContext: this.#port.context(),
      },
    });
  }

  #openLink(id: RequestId, url: unknown): void {
    const address = typeof url === 'string' ? peerUrl(url) : undefined;
    if (!address || !/^https?:$/.test(address.protocol))
      return this.#refuse(id, 'ui/open-link', 'Only http and https URLs can be opened.', ErrorCode.InvalidParams);
    if (this.#links.value.length >= MAX_LINKS)
      return this.#refuse(id, 'ui/open-link', `${MAX_LINKS} links already wait for the user.`);
    const link: LinkRequest = {
      url: address.href,
      answer: (opened) => {
        if (!this.#links.value.includes(link)) return;
        this.#links.value = this.#links.value.filter((each) => each !== link);
        if (opened) this.#answer(id, { result: {} });
        else this.#refuse(id, 'ui/open-link', 'The user did not open the link.');
      },
    };
    this.#links.value = [...this.#links.value, link];
  }

  /** Passes on a request of the app to the server, and answers it with the server's answer, unless it is cancelled. */
  async #pass(id: RequestId, method: string, params: JsonObject): Promise<void> {
    const key = JSON.stringify(id);
    if (this.#requests.has(key)) return this.#refuse(id, method, 'The id is in use.', ErrorCode.InvalidRequest);
    if (this.#requests.size >= MAX_REQUESTS)
      return this.#refuse(id, method, `${MAX_REQUESTS} requests are already running.`);
    const running = { cancel: (): void => {} };
    this.#requests.set(key, running);
    const name: unknown = params['name'];
    const why = method === 'tools/call' ? await this.#port.whyNotCall(name) : undefined;
    if (this.#requests.get(key) !== running) return;
    if (why !== undefined) {
      this.#requests.delete(key);
      return this.#refuse(id, method, `${textOf(name)}: ${why}`);
    }
    const request = this.#port.request(method, params);
    running.cancel = () => request.cancel();
    const answer = await request.answered;
    if (this.#requests.get(key) !== running) return;
    this.#requests.delete(key);
    this.#answer(id, answer);
  }

  #cancelAll(): void {
    for (const request of this.#requests.values()) request.cancel();
    this.#requests.clear();
  }

  #refuse(id: RequestId, what: string, message: string, code: number = REFUSED): void {
    this.#note('refused', what, message);
    this.#answer(id, { error: { code, message } });
  }

  #answer(id: RequestId, answer: Answer): void {
    this.#post({ jsonrpc: '2.0', id, ...answer });
  }

  /** Before `ui/notifications/initialized`, a host must send no notifications (MCP Apps 2026-01-26, Sandbox proxy). */
  #notify(method: string, params: JsonObject): void {
    if (this.#status.value === 'ready') this.#post({ jsonrpc: '2.0', method, params });
  }

  #post(message: JsonObject): void {
    if (this.#status.value === 'stopped') return;
    this.#port.record('host', JSON.stringify(message));
    this.#port.post(message);
  }

  #note(kind: Note['kind'], title: string, value: unknown): void {
    const number = (this.#notes.value.at(-1)?.number ?? 0) + 1;
    const note = { number, kind, title: textOf(title), text: textOf(value, MAX_NOTE) };
    this.#notes.value = [...this.#notes.value, note].slice(-MAX_NOTES);
  }
}

/** Content as people read it, if it is one text. */
function readable(content: unknown): unknown {
  const blocks: unknown[] = Array.isArray(content) ? content : [content];
  const [block] = blocks;
  return blocks.length === 1 && isObject(block) && block['type'] === 'text' ? block['text'] : content;
}

function textOf(value: unknown, max = 200): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return text.length > max ? `${text.slice(0, max)}…` : text;
}
