import { printableMessage } from '../base/printable.ts';
import type { Client } from '../client/client.ts';
import { connect } from '../client/connect.ts';
import type { ClientOptions } from '../client/options.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import type { Revision } from '../protocol/revisions.ts';
import type { EraCache, UpstreamRoute } from '../wire/era-cache.ts';
import type { Offer } from './ground.ts';
import type { Marks } from './marks.ts';
import { answering } from './questions.ts';
import type { CheckedServer, CheckOptions } from './server.ts';

/** The most resources that are read, and prompts that are got, in each revision. */
const MAX_READ = 20;
/** A resource that says it is larger is not read. Bytes. */
const MAX_SIZE = 1024 * 1024;
/** The most completions that are requested in each revision. */
const MAX_COMPLETED = 10;

/** Each connection tries only what it is told to. */
const NO_CACHE: EraCache = { get: () => undefined, set: () => {} };

/** What the check left out, and what would make it try. */
export interface NotTried {
  readonly what: string;
  /** Undefined if nothing would. */
  readonly how?: string | undefined;
}

/** What a correct client found in one revision. */
export interface Survey {
  readonly revision: Revision;
  /** How the messages travel. */
  readonly route: UpstreamRoute;
  readonly offer: Offer;
  readonly notTried: readonly NotTried[];
}

export interface SurveyOptions extends CheckOptions {
  readonly server: CheckedServer;
  readonly marks: Marks;
  readonly patience: number;
  readonly signal: AbortSignal;
}

/**
 * Uses everything that the server offers in a revision, as a correct client does.
 *
 * @throws an error of `connect` if the server does not speak the revision over this route.
 */
export async function survey(revision: Revision, route: UpstreamRoute, options: SurveyOptions): Promise<Survey> {
  const notTried: NotTried[] = [];
  const client = await open(revision, route, options, notTried);
  try {
    const offer = await new Surveyor(client, options, notTried).run();
    return { revision, route, offer, notTried };
  } finally {
    await client.close();
  }
}

function open(revision: Revision, route: UpstreamRoute, options: SurveyOptions, notTried: NotTried[]): Promise<Client> {
  const { server, marks, patience, signal, answers = {}, onstderr = () => {} } = options;
  const settings: ClientOptions = {
    ...answering(answers, (method, kind) => notTried.push(unanswered(method, kind))),
    revision,
    eraCache: NO_CACHE,
    signal,
    wiretap: marks.correct,
    timeout: patience,
    connectTimeout: patience * 2,
    probeTimeout: patience / 2,
    onerror: () => {},
    onlog: () => {},
  };
  if (server.kind === 'command') return connect({ ...server.target, onstderr }, { ...settings, restart: false });
  const { url, headers, authorizer } = server;
  const transport = route === 'http+sse' ? 'sse' : 'http';
  return connect({ url, transport }, { ...settings, headers, authorizer });
}

/** A question that got no real answer. */
function unanswered(method: string, kind: string): NotTried {
  if (kind === 'roots') return { what: `${method} was answered with no roots`, how: '--root <directory>' };
  return { what: `${method} was declined`, how: `--answers '{"${kind}":…}'` };
}

class Surveyor {
  readonly #client: Client;
  readonly #options: SurveyOptions;
  readonly #notTried: NotTried[];

  constructor(client: Client, options: SurveyOptions, notTried: NotTried[]) {
    this.#client = client;
    this.#options = options;
    this.#notTried = notTried;
  }

  async run(): Promise<Offer> {
    const client = this.#client;
    const { serverCapabilities: capabilities } = client;
    await this.#try('ping', () => client.ping());
    const tools = await this.#list('tools', 'tools/list', () => client.listTools());
    const resources = await this.#list('resources', 'resources/list', () => client.listResources());
    const templates = await this.#optional(capabilities['resources'], () => client.listResourceTemplates());
    const prompts = await this.#list('prompts', 'prompts/list', () => client.listPrompts());
    await this.#read(resources);
    await this.#subscribe(capabilities['resources'], resources);
    await this.#get(prompts);
    if (capabilities['completions'] !== undefined) await this.#complete(prompts, templates);
    const calls = await this.#call(tools);
    return { capabilities, tools, resources, prompts, calls };
  }

  async #list(capability: string, method: string, list: () => Promise<readonly object[]>): Promise<JsonObject[]> {
    if (this.#client.serverCapabilities[capability] === undefined) return [];
    return ((await this.#try(`${method} failed`, list)) ?? []) as JsonObject[];
  }

  /** Some servers with resources know no templates. */
  async #optional(capability: unknown, list: () => Promise<readonly object[]>): Promise<JsonObject[]> {
    return capability === undefined ? [] : (((await this.#try('', list)) ?? []) as JsonObject[]);
  }

  async #read(resources: readonly JsonObject[]): Promise<void> {
    const small = resources.filter(({ size }) => !(typeof size === 'number' && size > MAX_SIZE));
    if (small.length < resources.length)
      this.#leftOut(`${count(resources.length - small.length, 'resource')} not read: larger than 1 MiB`);
    if (small.length > MAX_READ)
      this.#leftOut(`${count(small.length - MAX_READ, 'resource')} not read: ${MAX_READ} others were`);
    for (const { uri } of small.slice(0, MAX_READ))
      await this.#try(`resource ${String(uri)} could not be read`, () => this.#client.readResource(String(uri)));
  }

  /** Subscribes to a resource, and ends the subscription. */
  async #subscribe(declared: unknown, [first]: readonly JsonObject[]): Promise<void> {
    if (!isObject(declared) || declared['subscribe'] !== true || !first) return;
    const uri = String(first['uri']);
    await this.#try(`resource ${uri} could not be subscribed to`, async () => {
      const subscription = await this.#client.subscribe(uri, () => {});
      await subscription.close();
    });
  }

  async #get(prompts: readonly JsonObject[]): Promise<void> {
    const free = prompts.filter((each) => !argumentsOf(each).some(({ required }) => required === true));
    if (free.length < prompts.length)
      this.#leftOut(`${count(prompts.length - free.length, 'prompt')} not requested: arguments are required`);
    if (free.length > MAX_READ) this.#leftOut(`${free.length - MAX_READ} prompts were not requested: ${MAX_READ} were`);
    for (const { name } of free.slice(0, MAX_READ))
      await this.#try(`prompt ${String(name)} failed`, () => this.#client.getPrompt(String(name)));
  }

  async #complete(prompts: readonly JsonObject[], templates: readonly JsonObject[]): Promise<void> {
    const ofPrompts = prompts.flatMap((each) =>
      argumentsOf(each).map(({ name }) => ({
        ref: { type: 'ref/prompt' as const, name: String(each['name']) },
        argument: String(name),
      })),
    );
    const ofTemplates = templates.flatMap(({ uriTemplate }) => {
      const uri = String(uriTemplate);
      return variablesOf(uri).map((argument) => ({ ref: { type: 'ref/resource' as const, uri }, argument }));
    });
    const all = [...ofPrompts, ...ofTemplates];
    for (const { ref, argument } of all.slice(0, MAX_COMPLETED))
      await this.#try('', () => this.#client.complete(ref, { name: argument, value: '' }));
    if (all.length > MAX_COMPLETED)
      this.#leftOut(`${count(all.length - MAX_COMPLETED, 'completion')} not requested: ${MAX_COMPLETED} others were`);
  }

  async #call(tools: readonly JsonObject[]): Promise<Offer['calls']> {
    const { calls = [] } = this.#options;
    const made = [];
    for (const call of calls) {
      if (!tools.some(({ name }) => name === call.tool)) {
        this.#leftOut(`the tool ${call.tool} was not called: the server does not list it`);
        continue;
      }
      const started = performance.now();
      await this.#try(`the tool ${call.tool} failed`, () =>
        this.#client.callTool(call.tool, call.args, { onprogress: () => {} }),
      );
      made.push({ ...call, took: performance.now() - started });
    }
    const others = tools.map(({ name }) => String(name)).filter((name) => !calls.some(({ tool }) => tool === name));
    if (others.length > 0)
      this.#leftOut(`${count(others.length, 'tool')} not called: ${others.join(', ')}`, `--call '${others[0]!}={…}'`);
    return made;
  }

  /** @param what describes a failure. Empty if a failure says nothing. */
  async #try<T>(what: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      this.#rethrowEnd();
      if (what !== '') this.#leftOut(`${what}: ${(error as Error).message}`);
      return undefined;
    }
  }

  #rethrowEnd(): void {
    this.#options.signal.throwIfAborted();
    if (this.#client.closed) throw new Error('the server closed the connection');
  }

  #leftOut(what: string, how?: string): void {
    // They may have names and errors of the server, of any length.
    this.#notTried.push({ what: printableMessage(what), how: how === undefined ? undefined : printableMessage(how) });
  }
}

function count(number: number, thing: string): string {
  return number === 1 ? `1 ${thing} was` : `${number} ${thing}s were`;
}

function argumentsOf({ arguments: given }: JsonObject): JsonObject[] {
  return Array.isArray(given) ? (given as JsonObject[]) : [];
}

/** The variables of a URI template (RFC 6570). */
function variablesOf(template: string): string[] {
  return [...template.matchAll(/\{[+#./;?&]?([^{}]+)\}/g)].flatMap(([, list]) =>
    list!.split(',').map((each) => each.split(/[*:]/, 1)[0]!),
  );
}
