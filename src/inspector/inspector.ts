import { secretsIn } from '../auth/secrets-in.ts';
import { peerUrl } from '../base/peer-url.ts';
import type { Client } from '../client/client.ts';
import type { Proceed } from '../auth/steps/step.ts';
import type { ClientOptions } from '../client/options.ts';
import { checkedRoots } from '../client/questions.ts';
import type { Subscription } from '../client/subscription.ts';
import type { AppCommands, AppDocument, ServedApp } from '../inspect/page-server/apps-api.ts';
import { CommandRefused } from '../inspect/page-server/command-refused.ts';
import type {
  AnswerCommand,
  AuthorizationCommand,
  ConnectCommand,
  PageCommands,
  Question,
  RawMessage,
  RequestCommand,
  RequestOutcome,
  Root,
  TargetChoice,
} from '../inspect/page-server/page-api.ts';
import type { Breakpoints } from '../inspect/breakpoints/breakpoints.ts';
import type { SaveCommand, SavedCall, SavedRule } from '../inspect/page-server/saved-api.ts';
import { StateFeed } from '../inspect/page-server/state-feed.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { isHeaderName, isHeaderValue } from '../protocol/header-syntax.ts';
import type { LogLevel } from '../protocol/logging.ts';
import { REVISIONS } from '../protocol/revisions.ts';
import { killGroups } from '../transport/stdio/process-group.ts';
import type { AppServer } from './apps/app-server.ts';
import { InspectedApps } from './apps/inspected-apps.ts';
import { AuthorizationSteps } from './authorization-steps.ts';
import { connectAgain } from './connect-again.ts';
import { InspectedConnection, type ConnectionOptions, type InspectedServer } from './connection.ts';
import { createBreakpoints } from './create-breakpoints.ts';
import { intercept } from './intercept.ts';
import { QuestionInbox } from './question-inbox.ts';
import { RunningRequests } from './running-requests.ts';
import type { SavedCalls } from './saved-calls.ts';
import { Sessions } from './sessions.ts';

/** A server that the user can choose. */
export interface Choice extends TargetChoice {
  readonly server: InspectedServer;
}

export interface InspectorOptions extends Pick<ConnectionOptions, 'capture' | 'authorizer' | 'connectTimeout'> {
  readonly choices: readonly Choice[];
  /** Where calls are saved. Default: they cannot be saved. */
  readonly saved?: SavedCalls | undefined;
  /** Serves the apps of servers. It stops with the inspector. Default: they cannot be shown. */
  readonly apps?: AppServer | undefined;
}

/** A server that the user has chosen. */
interface ChosenServer {
  readonly server: InspectedServer;
  /** As it is shown. */
  readonly name: string;
  /** The name of its saved calls: the one of the configuration, or the host of its URL. A path may be a secret. */
  readonly savedName: string;
  /** Identifies it among all. */
  readonly key: string;
}

const MAX_SUBSCRIPTIONS = 1000;

/** A client whose calls and answers come from the page. Has one connection at a time. */
export class Inspector implements PageCommands {
  readonly feed: StateFeed;
  /** Compares sessions, and replays them. */
  readonly sessions: Sessions;
  /** For the messages of its connections. */
  readonly breakpoints: Breakpoints;
  readonly #options: InspectorOptions;
  readonly #questions = new QuestionInbox((questions) => this.feed.update({ questions }));
  readonly #requests = new RunningRequests((running) => this.feed.update({ running }));
  readonly #subscriptions = new Map<string, Subscription>();
  readonly #authorization: AuthorizationSteps;
  readonly #apps: InspectedApps;
  #connection: InspectedConnection | undefined;
  /** The server that the user has chosen. */
  #chosen: ChosenServer | undefined;
  /** Resolve when the processes of earlier connections have ended. */
  readonly #closing = new Set<Promise<void>>();

  constructor(options: InspectorOptions) {
    this.#options = options;
    this.#apps = new InspectedApps(options.apps, options.capture, (apps) => this.feed.update({ apps }));
    const processes = options.choices.some(({ server }) => server.kind === 'command');
    this.#authorization = new AuthorizationSteps(
      (authorization) => this.feed.update({ authorization }),
      options.capture,
    );
    this.sessions = new Sessions(options.capture, () => this.#connector());
    this.breakpoints = createBreakpoints({ kill: processes ? killGroups : undefined });
    this.feed = new StateFeed({
      role: 'client',
      choices: options.choices.map(({ id, name, source, detail }) => ({ id, name, source, detail })),
      connection: { status: 'idle', attempts: [], stderr: [] },
      running: [],
      questions: [],
      roots: [],
      subscriptions: [],
      saved: options.saved && { file: options.saved.file, changes: 0 },
    });
  }

  connect(to: ConnectCommand): void {
    const chosen = this.#serverOf(to);
    const { server, name } = chosen;
    this.disconnect();
    this.#chosen = chosen;
    this.feed.update({ target: name, logLevel: undefined });
    const { capture, authorizer, connectTimeout } = this.#options;
    const connection: InspectedConnection = new InspectedConnection(server, {
      ...{ capture, authorizer, connectTimeout, revision: to.revision },
      onelicit: {
        form: (form, { signal }) => this.#ask('elicitation/create', form, signal),
        url: (visit, { signal }) => this.#ask('elicitation/create', visit, signal),
      },
      onsample: (params, { signal }) => this.#ask('sampling/createMessage', params, signal),
      sampling: { tools: true, context: true },
      middleware: [intercept(this.breakpoints)],
      onroots: () => this.feed.state.roots,
      onstate: (state) => {
        // The first call comes before the constructor of the connection has returned.
        if (this.#connection === undefined || this.#connection === connection) this.feed.update({ connection: state });
      },
    });
    this.#connection = connection;
  }

  disconnect(): void {
    const connection = this.#connection;
    if (!connection) return;
    this.#connection = undefined;
    for (const { key } of this.feed.state.running) this.#requests.cancel(key);
    this.#subscriptions.clear();
    this.#apps.closeAll();
    const closed = connection.close().catch(() => {});
    this.#closing.add(closed);
    void closed.then(() => this.#closing.delete(closed));
    this.feed.update({
      subscriptions: [],
      connection: { ...this.feed.state.connection, status: 'closed', login: undefined },
    });
  }

  async request(request: RequestCommand): Promise<RequestOutcome> {
    const outcome = await this.#requests.send(this.#client, request);
    this.#connection?.refresh();
    return outcome;
  }

  cancel({ key }: { readonly key: string }): void {
    this.#requests.cancel(key);
  }

  answer(answer: AnswerCommand): Promise<void> {
    return this.#questions.answer(answer);
  }

  async setRoots({ roots }: { readonly roots: readonly Root[] }): Promise<void> {
    try {
      checkedRoots(roots);
    } catch (error) {
      throw new CommandRefused(400, (error as Error).message, { cause: error });
    }
    this.feed.update({ roots });
    await this.#connection?.client?.rootsChanged();
  }

  async subscribe({ uri }: { readonly uri: string }): Promise<void> {
    const client = this.#client;
    if (this.#subscriptions.has(uri)) return;
    if (this.#subscriptions.size >= MAX_SUBSCRIPTIONS)
      throw new CommandRefused(409, `There are already ${MAX_SUBSCRIPTIONS} subscriptions.`);
    const subscription = await client.subscribe(uri, () => {});
    if (client !== this.#connection?.client) return subscription.close();
    this.#subscriptions.set(uri, subscription);
    this.#showSubscriptions();
    void subscription.closed.then(() => {
      if (this.#subscriptions.get(uri) !== subscription) return;
      this.#subscriptions.delete(uri);
      this.#showSubscriptions();
    });
  }

  async unsubscribe({ uri }: { readonly uri: string }): Promise<void> {
    await this.#subscriptions.get(uri)?.close();
  }

  async setLogLevel({ level }: { readonly level: string }): Promise<void> {
    const client = this.#client;
    if (REVISIONS[client.revision].era === 'legacy' && !client.serverCapabilities['logging'])
      throw new CommandRefused(409, 'The server did not declare the capability logging.');
    await client.setLogLevel(level as LogLevel);
    this.feed.update({ logLevel: level });
  }

  /** @throws CommandRefused if there is no connection. */
  #connector(): (options: ClientOptions) => Promise<Client> {
    void this.#client;
    const { server } = this.#chosen!;
    return (options) => connectAgain(server, options, this.#options);
  }

  startAuthorization(command: AuthorizationCommand): void {
    const { server } = this.#serverOf({ choice: command.choice, url: command.url });
    if (server.kind === 'command') throw new CommandRefused(400, 'Only a server at a URL has an authorization.');
    this.#authorization.start(server, command);
  }

  proceedAuthorization(proceed: Proceed): void {
    this.#authorization.proceed(proceed);
  }

  endAuthorization(): void {
    this.#authorization.end();
  }

  async resend(message: RawMessage): Promise<void> {
    const connection = this.#connection;
    if (!connection?.client) throw new CommandRefused(409, 'There is no connection.');
    await connection.sendRaw(message);
  }

  /** Ends the connection. Resolves when no process is left. */
  async close(): Promise<void> {
    this.disconnect();
    this.sessions.endReplay();
    await this.#authorization.close();
    await this.#apps.stop();
    await Promise.all(this.#closing);
  }

  /** @throws CommandRefused if there is no connection. */
  get #client(): Client {
    const client = this.#connection?.client;
    if (!client) throw new CommandRefused(409, 'There is no connection.');
    return client;
  }

  /** @throws CommandRefused if the command names no server. */
  #serverOf({ choice: id, url, headers = {}, transport: named }: ConnectCommand): ChosenServer {
    if ((id === undefined) === (url === undefined))
      throw new CommandRefused(400, 'Connect needs either a choice or a URL.');
    for (const [name, value] of Object.entries(headers))
      if (!isHeaderName(name) || !isHeaderValue(value))
        throw new CommandRefused(400, `${JSON.stringify(name)} is not a valid header.`);
    const transport = named === 'streamable-http' ? 'http' : named;
    if (url !== undefined) {
      const address = addressOf(url);
      return {
        name: address.origin + address.pathname,
        savedName: address.hostname.replace(/^\[|\]$/g, ''),
        key: `url ${address.href}`,
        server: { kind: 'url', url: address, headers, transport },
      };
    }
    const choice = this.#options.choices.find((each) => each.id === id);
    if (!choice) throw new CommandRefused(400, 'There is no such choice.');
    const { server, name } = choice;
    const key = `choice ${id}`;
    if (server.kind === 'url')
      return {
        name,
        savedName: name,
        key,
        server: { ...server, headers: merged(server.headers, headers), transport: transport ?? server.transport },
      };
    if (transport !== undefined || Object.keys(headers).length > 0)
      throw new CommandRefused(400, 'A command has no headers and no HTTP transport.');
    return { server, name, savedName: name, key };
  }

  async listSaved(): Promise<readonly SavedCall[]> {
    const { saved, server } = this.#saved;
    return saved.list(server.savedName);
  }

  async save(call: SaveCommand): Promise<void> {
    const { saved, server } = this.#saved;
    await saved.save(server.savedName, call, secretsOf(server));
    this.#savedChanged();
  }

  async saveRules(): Promise<void> {
    const { saved, server } = this.#saved;
    const rules = this.breakpoints.state.rules.map(savedRule);
    await saved.saveRules(server.savedName, rules, secretsOf(server));
    this.#savedChanged();
  }

  async addSavedRules(): Promise<{ readonly added: number }> {
    const { saved, server } = this.#saved;
    const rules = await saved.rules(server.savedName);
    // Nobody has seen them here yet, so the user turns them on.
    const off = (rule: SavedRule): SavedRule => ({ ...savedRule(rule), enabled: false });
    const set = new Set(this.breakpoints.state.rules.map((rule) => JSON.stringify(off(rule))));
    const added = rules.map(off).filter((rule) => !set.has(JSON.stringify(rule)));
    this.breakpoints.addRules(added);
    return { added: added.length };
  }

  async removeSaved({ name }: { readonly name: string }): Promise<void> {
    const { saved, server } = this.#saved;
    await saved.remove(server.savedName, name);
    this.#savedChanged();
  }

  serveApp(document: AppDocument): ServedApp {
    if (!this.#chosen || !this.#connection) throw new CommandRefused(409, 'There is no connection.');
    return this.#apps.serve(this.#chosen.key, document);
  }

  closeApp({ id }: { readonly id: number }): void {
    this.#apps.close(id);
  }

  recordApp(app: Parameters<AppCommands['recordApp']>[0]): void {
    this.#apps.record(app);
  }

  get #saved(): { readonly saved: SavedCalls; readonly server: ChosenServer } {
    const { saved } = this.#options;
    if (!saved || !this.#chosen) throw new CommandRefused(409, 'Connect to a server first.');
    return { saved, server: this.#chosen };
  }

  #savedChanged(): void {
    const { saved } = this.feed.state;
    this.feed.update({ saved: saved && { ...saved, changes: saved.changes + 1 } });
  }

  #ask<Answer>(method: Question['method'], params: JsonObject, signal: AbortSignal): Promise<Answer> {
    return this.#questions.ask(method, params, signal) as Promise<Answer>;
  }

  #showSubscriptions(): void {
    this.feed.update({ subscriptions: [...this.#subscriptions.keys()] });
  }
}

function addressOf(url: string): URL {
  const address = peerUrl(url);
  if (!address || !/^https?:$/.test(address.protocol))
    throw new CommandRefused(400, 'A URL must begin with http:// or https://.');
  if (address.username || address.password)
    throw new CommandRefused(400, 'A URL must not contain credentials: send them in a header.');
  return address;
}

/** The configured headers, replaced by those of the user where both have the same name. */
function merged(
  configured: Readonly<Record<string, string>>,
  own: Readonly<Record<string, string>>,
): Record<string, string> {
  const replaced = new Set(Object.keys(own).map((name) => name.toLowerCase()));
  return {
    ...Object.fromEntries(Object.entries(configured).filter(([name]) => !replaced.has(name.toLowerCase()))),
    ...own,
  };
}

function savedRule({ filter, action, enabled, nth }: SavedRule): SavedRule {
  return { filter, action, enabled, nth };
}

/** What a connection to a server must not leave in a file. */
function secretsOf({ server }: ChosenServer): string[] {
  return server.kind === 'url' ? Object.values(server.headers).flatMap(secretsIn) : [];
}
