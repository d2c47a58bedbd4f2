import type { AuthorizedRevision, Pause, StepId, StepRecord } from '../../auth/steps/step.ts';
import type { JsonObject, JsonValue } from '../../jsonrpc/message.ts';
import type { Revision } from '../../protocol/revisions.ts';
import type { AppCommands, AppReports } from './apps-api.ts';
import type { SavedCommands, SavedState } from './saved-api.ts';
import type { BreakpointState } from '../breakpoints/breakpoint-api.ts';

/**
 * The API between the page and its server. The page imports this file too, so it has types only.
 *
 * - `GET /api/stream?after=N`: a stream of lines. Lines with `state` have the whole `InspectorState`, at first and after
 *   each change. The others are records in the mcpcap format, with `{"end":true}` after the last one. One stream carries
 *   all, because a browser has only six connections to a server, for all tabs. When a sixth stream begins, the oldest ends
 *   with `{"closed": "<why>"}`.
 * - `POST /api/<command>`: one of the `PageCommands`, `SessionCommands` or `BreakpointCommands`, with its argument as a JSON body. Answered with its result as
 *   JSON, or with status 400 or 409 and a `CommandError`.
 * - A `request` is answered as soon as it is sent. Once its key is in `finished`, `POST /api/outcome` with `{"key": …}`
 *   returns its `RequestOutcome`, once. This way calls that wait for the user do not use up the six connections that a
 *   browser has to a server. When the last stream ends, no page is open, and requests in flight are
 *   cancelled.
 *
 * Everything but the page itself needs the key (see `servePage`).
 */

/** What the page shows besides the records. */
export interface InspectorState {
  /**
   * - `client`: the inspector is the client, and the page may send all commands.
   * - `observer`: the page shows the traffic of other programs, and sends nothing.
   * - `recording`: the page shows a recording, and sends nothing.
   */
  readonly role: 'client' | 'observer' | 'recording';
  /**
   * What is inspected, to show to the user: a URL, a command line, a file. Undefined before the user has chosen a
   * server.
   */
  readonly target?: string | undefined;
  /** The servers that the user can choose, from the command line and configuration files. */
  readonly choices: readonly TargetChoice[];
  readonly connection: ConnectionState;
  /** The page's requests in flight, oldest first. */
  readonly running: readonly RunningRequest[];
  /** The keys of requests that have ended, but whose outcomes the page has not fetched yet. Default none. */
  readonly finished?: readonly string[] | undefined;
  /** The server's questions that wait for the user, oldest first. */
  readonly questions: readonly Question[];
  /** The roots that the server gets when it asks for them. */
  readonly roots: readonly Root[];
  /** The URIs of subscribed resources. */
  readonly subscriptions: readonly string[];
  /** The log level that was requested from the server. */
  readonly logLevel?: string | undefined;
  /** Undefined if nothing passes that could be held. */
  readonly breakpoints?: BreakpointState | undefined;
  /** The walk through the authorization of a server. Undefined before the first one. */
  readonly authorization?: AuthorizationState | undefined;
  /** Where calls can be saved. Undefined if they cannot. */
  readonly saved?: SavedState | undefined;
  /** What browsers reported about apps. Default nothing. */
  readonly apps?: readonly AppReports[] | undefined;
}

/** A walk through the authorization of a server. */
export interface AuthorizationState {
  /** The URL of the server, without its query. */
  readonly target: string;
  readonly revision: AuthorizedRevision;
  /** The steps so far. */
  readonly steps: readonly StepRecord[];
  /** The step that runs. */
  readonly running?: StepId | undefined;
  /** What waits for the user: `proceedAuthorization` goes on. */
  readonly pause?: Pause | undefined;
  /** The address that the user must open. The page opens it only on a click. */
  readonly login?: { readonly url: string } | undefined;
  readonly isOver: boolean;
}

/** A server that the user can choose. */
export interface TargetChoice {
  readonly id: string;
  /** Its name in the configuration. */
  readonly name: string;
  /** The configuration that names it: `command line`, `mcp.json`, `Claude Desktop` and so on. */
  readonly source: string;
  /** Its URL, or its command line. Without secrets. */
  readonly detail: string;
}

/** The state of the connection, and how it was made. */
export interface ConnectionState {
  readonly status: 'idle' | 'connecting' | 'connected' | 'failed' | 'closed';
  readonly revision?: Revision | undefined;
  readonly transport?: 'stdio' | 'streamable-http' | 'sse' | undefined;
  /** The server's description: `serverInfo`, `capabilities`, `instructions`. */
  readonly discovered?: JsonObject | undefined;
  /** What was tried, in order. */
  readonly attempts: readonly Attempt[];
  /** Why it failed or closed, and what the user can do about it. */
  readonly problem?: Problem | undefined;
  /** A login that waits for the user. The page shows the whole address, and opens it only on a click. */
  readonly login?: { readonly url: string } | undefined;
  /** The last lines that a command wrote to stderr. At most 50. */
  readonly stderr: readonly string[];
}

/** One step of connecting: a request, or a start of a command. */
export interface Attempt {
  /** For example `POST server/discover, 2026-07-28`. */
  readonly what: string;
  readonly outcome: 'running' | 'done' | 'failed';
  /** Why it failed, or what the server answered. */
  readonly detail?: string | undefined;
  /** How long it took, in milliseconds. */
  readonly duration?: number | undefined;
  /** The number of the record with its request. */
  readonly record?: number | undefined;
}

/** The step at which connecting failed. */
export type Step = 'command' | 'dns' | 'connect' | 'tls' | 'login' | 'http' | 'revision' | 'silence' | 'output';

/** Why a connection failed. */
export interface Problem {
  readonly step?: Step | undefined;
  /** What happened, for example `192.0.2.1:443 refused the connection`. */
  readonly message: string;
  /** What the user can do. */
  readonly advice?: string | undefined;
}

/** A request in flight. */
export interface RunningRequest {
  /** The key that the page gave it. */
  readonly key: string;
  readonly method: string;
  /** The newest progress: `progress`, `total`, `message`. */
  readonly progress?: JsonObject | undefined;
}

/** A question of the server. */
export interface Question {
  readonly id: number;
  readonly method: 'elicitation/create' | 'sampling/createMessage';
  readonly params: JsonObject;
  /** ISO 8601. */
  readonly received: string;
}

/** A root as the server sees it. */
export interface Root {
  readonly uri: string;
  readonly name?: string | undefined;
}

/** Why a command was refused. Nothing was sent. */
export interface CommandError {
  readonly error: string;
}

/** The commands of the page. */
export interface PageCommands extends SavedCommands, AppCommands {
  /** Begins to connect, after ending the previous connection. The state shows progress and failure. */
  connect(to: ConnectCommand): void;
  disconnect(nothing: object): void;
  /** Sends a request, and waits for its answer. */
  request(request: RequestCommand): Promise<RequestOutcome>;
  /** Cancels a request in flight. Its outcome is then an error. */
  cancel(request: { readonly key: string }): void;
  /** Answers a question with a result, or refuses it with an error. */
  answer(answer: AnswerCommand): Promise<void>;
  setRoots(list: { readonly roots: readonly Root[] }): Promise<void>;
  subscribe(resource: { readonly uri: string }): Promise<void>;
  unsubscribe(resource: { readonly uri: string }): Promise<void>;
  setLogLevel(log: { readonly level: string }): Promise<void>;
  /** Begins to go through the authorization of a server, after ending the walk before. It pauses before each step. */
  startAuthorization(walk: AuthorizationCommand): void;
  /**
   * Does the next step, also if a client would stop here.
   *
   * @param parameters all parameters of the authorization request, if they were changed.
   */
  proceedAuthorization(proceed: { readonly parameters?: Readonly<Record<string, string>> | undefined }): void;
  endAuthorization(nothing: object): void;
  /** Sends bytes to the server, as they are. The answer is only in the records. */
  resend(message: RawMessage): Promise<void>;
}

/** A server, and how to go through its authorization. */
export interface AuthorizationCommand {
  /** The id of a choice, or a URL. */
  readonly choice?: string | undefined;
  readonly url?: string | undefined;
  readonly revision: AuthorizedRevision;
  readonly clientId?: string | undefined;
  readonly clientSecret?: string | undefined;
  readonly clientMetadataUrl?: string | undefined;
  /** Separated by spaces. Default: those that a client would request. */
  readonly scope?: string | undefined;
  /** A tool that needs more scopes, and its arguments as JSON. */
  readonly tool?: string | undefined;
  readonly args?: string | undefined;
}

/** Bytes to send to the server. */
export interface RawMessage {
  /** Over HTTP, the request line and the headers as lines. Undefined over stdio. */
  readonly head?: string | undefined;
  /** The body of the request, or what is written to stdin, before a line feed. */
  readonly body: string;
  readonly encoding: 'utf8' | 'base64';
}

/** A server, and how to connect to it. */
export interface ConnectCommand {
  /** The id of a choice, or a URL. A command can only be a choice. */
  readonly choice?: string | undefined;
  readonly url?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The only revision to use. Default: the server's preference. */
  readonly revision?: Revision | undefined;
  /** The only HTTP transport to use. Default: the one that the server supports. */
  readonly transport?: 'streamable-http' | 'sse' | undefined;
}

/** A request to the server. */
export interface RequestCommand {
  /** Names the request in `cancel` and in the state. The page chooses it. */
  readonly key: string;
  readonly method: string;
  /**
   * The parameters as JSON text. Refused if it is not a JSON object, or if a number in it would be sent differently,
   * such as an integer that a double cannot hold.
   */
  readonly params: string;
  /** Milliseconds without an answer or progress. 0: no limit. Default 60 000. */
  readonly timeout?: number | undefined;
}

/** How a request ended. */
export interface RequestOutcome {
  readonly result?: JsonObject | undefined;
  /** The server's error, or the failure of the connection. */
  readonly error?:
    | { readonly code?: number | undefined; readonly message: string; readonly data?: JsonValue }
    | undefined;
  /** Milliseconds from sending to the answer. */
  readonly duration: number;
}

/** The answer to a question: a result, or an error. */
export interface AnswerCommand {
  readonly question: number;
  readonly result?: JsonObject | undefined;
  readonly error?: { readonly message: string } | undefined;
}
