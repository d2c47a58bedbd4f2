import { signal, type ReadonlySignal } from '@preact/signals';
import type { DomainList, ServedApp } from '../../src/inspect/page-server/apps-api.ts';
import type { JsonObject } from '../../src/jsonrpc/message.ts';
import type { Entry, ListName } from '../explore/entry-list.ts';
import type { Explorer, Session } from '../explore/explorer.ts';
import type { Sent } from '../explore/request.ts';
import { theme } from '../ui/color-theme.ts';
import { VERSION } from '../../src/version.ts';
import { AppHost } from './app-host.ts';
import { appIn, appUriOf, isForApps, type AppResource } from './app-resource.ts';
import { MessageLog } from './message-log.ts';
import { answerOf, finalOutcome, serverRequest } from './server-request.ts';

/** How long an app may take to end when it is closed. Milliseconds. */
const TEARDOWN_MS = 1000;

/** An app in its frame. */
export interface ShownApp extends ServedApp {
  readonly origin: string;
  readonly host: AppHost;
  readonly resource: AppResource;
  readonly log: MessageLog;
}

/** A call of a tool, and the app that shows it. */
export class RunningApp {
  readonly tool: Entry;
  readonly uri: string;
  /** The call of the tool. */
  readonly call: Sent;
  readonly #explorer: Explorer;
  readonly #session: Session;
  readonly #shown = signal<ShownApp | undefined>(undefined);
  readonly #problem = signal<string | undefined>(undefined);
  readonly #isClosed = signal(false);
  /** The first URLs that its frame was not allowed to go to. */
  readonly #navigations = signal<readonly string[]>([]);
  #frame: HTMLIFrameElement | undefined;

  /** @param args the arguments as JSON text. */
  constructor(explorer: Explorer, session: Session, tool: Entry, args: string) {
    this.#explorer = explorer;
    this.#session = session;
    this.tool = tool;
    this.uri = appUriOf(tool.raw)!;
    this.call = session.call(
      `tool ${tool.id}`,
      'tools/call',
      `{"name":${JSON.stringify(tool.id)},"arguments":${args}}`,
    );
    void this.#show(JSON.parse(args) as JsonObject).catch((error: unknown) => {
      this.#problem.value = (error as Error).message;
    });
  }

  get shown(): ReadonlySignal<ShownApp | undefined> {
    return this.#shown;
  }
  /** Why the app could not be shown. */
  get problem(): ReadonlySignal<string | undefined> {
    return this.#problem;
  }
  get isClosed(): ReadonlySignal<boolean> {
    return this.#isClosed;
  }
  get navigations(): ReadonlySignal<readonly string[]> {
    return this.#navigations;
  }

  /** Connects the host with the frame of the app. Called before the app runs. @returns a function that disconnects them. */
  attach(frame: HTMLIFrameElement): () => void {
    const { host, origin } = this.#shown.value!;
    this.#frame = frame;
    // The first message of the frame comes before the app is loaded, and has the port for those of the app. The browser
    // builds the data of a message when it is read: that may take seconds for one that does not come through the port.
    let port: MessagePort | undefined;
    const onmessage = (event: MessageEvent): void => {
      if (event.origin !== origin) return;
      if (port || event.source !== frame.contentWindow) return void host.count(performance.now());
      [port] = event.ports;
      port!.onmessage = (message) => {
        if (host.status.peek() === 'stopped') port!.close();
        else host.receive(message.data, performance.now());
      };
    };
    // The `frame-src` of the page blocks a navigation of the frame to another origin.
    const onviolation = ({ effectiveDirective, blockedURI }: SecurityPolicyViolationEvent): void => {
      const { value } = this.#navigations;
      if (effectiveDirective === 'frame-src' && value.length < 10) this.#navigations.value = [...value, blockedURI];
    };
    window.addEventListener('message', onmessage);
    document.addEventListener('securitypolicyviolation', onviolation);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const tell = (): void => host.contextChanged({ theme: colors() });
    dark.addEventListener('change', tell);
    const stopTheme = theme.subscribe(tell);
    return () => {
      port?.close();
      window.removeEventListener('message', onmessage);
      document.removeEventListener('securitypolicyviolation', onviolation);
      dark.removeEventListener('change', tell);
      stopTheme();
    };
  }

  /** Tells the app that it ends, and removes it. */
  async close(): Promise<void> {
    const shown = this.#shown.value;
    if (shown)
      await Promise.race([
        shown.host.teardown(),
        new Promise((resolve) => {
          setTimeout(resolve, TEARDOWN_MS);
        }),
      ]);
    this.end();
  }

  /** Removes it at once. */
  end(): void {
    if (this.#isClosed.value) return;
    this.#isClosed.value = true;
    this.call.cancel();
    const shown = this.#shown.value;
    if (!shown) return;
    shown.host.stop();
    shown.log.close();
  }

  async #show(args: JsonObject): Promise<void> {
    const answer = await answerOf(await this.#session.send('resources/read', { uri: this.uri }).settled);
    if ('error' in answer) throw new Error(`The app cannot be read: ${answer.error.message}`);
    const resource = await appIn(answer.result, async () => (await this.#find('Resources', this.uri))?.raw);
    const { html, csp } = resource;
    const served = await this.#explorer.server.send('serveApp', { uri: this.uri, html, csp });
    const log = new MessageLog(this.#explorer.server, served.id);
    if (this.#isClosed.value) return log.close();
    const { origin } = new URL(served.url);
    const host = new AppHost({
      post: (message) => this.#frame?.contentWindow?.postMessage(message, origin),
      record: (from, text) => log.add(from, text),
      request: (method, params) => serverRequest(this.#session, this.#session.send(method, params)),
      whyNotCall: (name) => this.#whyNotCall(name),
      context: () => this.#context(),
      sandbox: sandboxOf(served),
      onclose: () => void this.close(),
    });
    this.#shown.value = { ...served, origin, host, resource, log };
    host.toolInput(args);
    const outcome = await finalOutcome(this.#session, await this.call.settled);
    const ended = await answerOf(outcome);
    if ('result' in ended) host.toolResult(ended.result);
    else host.toolCancelled(ended.error.message);
  }

  async #whyNotCall(name: unknown): Promise<string | undefined> {
    const tool = await this.#find('Tools', name);
    if (!tool) return 'The server does not list this tool.';
    return isForApps(tool.raw) ? undefined : 'This tool is not for apps: its visibility does not have "app".';
  }

  /** An entry of a list. If it is not in the part that was read, the whole list is read. */
  async #find(name: ListName, wanted: unknown): Promise<Entry | undefined> {
    const list = this.#session.lists[name];
    const find = (): Entry | undefined => list.entries.value.find(({ id }) => id === wanted);
    if (!find() && (list.hasMore.value || !list.started.value)) await list.all();
    return find();
  }

  #context(): JsonObject {
    const { clientWidth: width = 0 } = this.#frame ?? {};
    const { locale, timeZone } = Intl.DateTimeFormat().resolvedOptions();
    return {
      toolInfo: { tool: this.tool.raw },
      theme: colors(),
      displayMode: 'inline',
      availableDisplayModes: ['inline'],
      containerDimensions: { width },
      ...{ locale, timeZone, userAgent: `everwire/${VERSION}`, platform: 'web' },
    };
  }
}

/** What the app may use: the host tells it this. */
function sandboxOf({ policy: { domains } }: ServedApp): JsonObject {
  const allowed = (Object.keys(domains) as DomainList[]).map((list) => [
    list,
    domains[list].filter(({ refused }) => refused === undefined).map(({ domain }) => domain),
  ]);
  return { permissions: {}, csp: Object.fromEntries(allowed) as JsonObject };
}

function colors(): 'light' | 'dark' {
  if (theme.peek() !== 'system') return theme.peek() as 'light' | 'dark';
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
}
