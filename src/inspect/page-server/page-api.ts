import type { JsonObject, JsonValue } from '../../jsonrpc/message.ts';
import type { Revision } from '../../protocol/revisions.ts';

/**
 * What the page and its server say to each other. The page imports this file too, so it has types only.
 *
 * - `GET /api/records?after=N`: a stream of records in the mcpcap format.
 * - `GET /api/state`: a stream of lines. Each is the whole `InspectorState` after a change.
 * - `POST /api/<command>`: one of the `PageCommands`, with its argument as a JSON body. Answered with its result as JSON,
 *   or with status 400 or 409 and a `CommandError`.
 * - `request` is answered as soon as it is sent. When its key is in `finished`, `POST /api/outcome` with `{"key": …}` is
 *   answered with its `RequestOutcome`, once. A browser has six connections to a server, and calls that wait for a person
 *   must not use them up. When the last stream of states ends, no page is open: requests that run are cancelled.
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
  /** What is inspected, for people: a URL, a command line, a file. Undefined before the person chose a server. */
  readonly target?: string | undefined;
  /** The servers that a person can choose, from the command line and configuration files. */
  readonly choices: readonly TargetChoice[];
  readonly connection: ConnectionState;
  /** The requests of the page that run, the oldest first. */
  readonly running: readonly RunningRequest[];
  /** The keys of requests whose outcomes were not taken yet. Default none. */
  readonly finished?: readonly string[] | undefined;
  /** The questions of the server that wait for a person, the oldest first. */
  readonly questions: readonly Question[];
  /** What the server gets when it asks for roots. */
  readonly roots: readonly Root[];
  /** The URIs of the resources that are subscribed to. */
  readonly subscriptions: readonly string[];
  /** The level of log messages that the server was asked for. */
  readonly logLevel?: string | undefined;
}

/** A server that a person can choose. */
export interface TargetChoice {
  readonly id: string;
  /** Its name in the configuration. */
  readonly name: string;
  /** The configuration that names it: `command line`, `mcp.json`, `Claude Desktop` and so on. */
  readonly source: string;
  /** Its URL, or its command line. Without secrets. */
  readonly detail: string;
}

/** How far connecting got. */
export interface ConnectionState {
  readonly status: 'idle' | 'connecting' | 'connected' | 'failed' | 'closed';
  readonly revision?: Revision | undefined;
  readonly transport?: 'stdio' | 'streamable-http' | 'sse' | undefined;
  /** The server's description: `serverInfo`, `capabilities`, `instructions`. */
  readonly discovered?: JsonObject | undefined;
  /** What was tried, in order. */
  readonly attempts: readonly Attempt[];
  /** Why it failed or closed, and what a person can do about it. */
  readonly problem?: Problem | undefined;
  /** A login that waits for the person. The page shows the whole address, and opens it only by a click. */
  readonly login?: { readonly url: string } | undefined;
  /** The last lines that a command wrote to stderr. At most 50. */
  readonly stderr: readonly string[];
}

/** One way that was tried to connect. */
export interface Attempt {
  /** For example `POST server/discover, 2026-07-28`. */
  readonly what: string;
  readonly outcome: 'running' | 'done' | 'failed';
  /** Why it failed, or what the server said. */
  readonly detail?: string | undefined;
  /** Milliseconds that it took. */
  readonly duration?: number | undefined;
  /** The number of the record with its request. */
  readonly record?: number | undefined;
}

/** Where connecting failed. */
export type Step = 'command' | 'dns' | 'connect' | 'tls' | 'login' | 'http' | 'revision' | 'silence' | 'output';

/** Why a connection failed. */
export interface Problem {
  readonly step?: Step | undefined;
  /** What happened, with what was seen: `192.0.2.1:443 refused the connection`. */
  readonly message: string;
  /** What a person can do. */
  readonly advice?: string | undefined;
}

/** A request that runs. */
export interface RunningRequest {
  /** The name that the page gave it. */
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

/** What the page asks of its server. */
export interface PageCommands {
  /** Begins to connect, and ends the connection before. Progress and failure are in the state. */
  connect(to: ConnectCommand): void;
  disconnect(nothing: object): void;
  /** Sends a request, and waits for its answer. */
  request(request: RequestCommand): Promise<RequestOutcome>;
  /** Cancels a running request. Its answer is an error. */
  cancel(request: { readonly key: string }): void;
  /** Answers a question with a result, or refuses it with an error. */
  answer(answer: AnswerCommand): Promise<void>;
  setRoots(list: { readonly roots: readonly Root[] }): Promise<void>;
  subscribe(resource: { readonly uri: string }): Promise<void>;
  unsubscribe(resource: { readonly uri: string }): Promise<void>;
  setLogLevel(log: { readonly level: string }): Promise<void>;
}

/** A server, and how to connect to it. */
export interface ConnectCommand {
  /** The id of a choice, or a URL. A command can only be a choice. */
  readonly choice?: string | undefined;
  readonly url?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The only revision to use. Default: the server's preference. */
  readonly revision?: Revision | undefined;
  /** The only HTTP transport to use. Default: what the server has. */
  readonly transport?: 'streamable-http' | 'sse' | undefined;
}

/** A request to the server. */
export interface RequestCommand {
  /** A name that the page chooses, for `cancel` and the state. */
  readonly key: string;
  readonly method: string;
  /**
   * The parameters as JSON text. Refused if it is no JSON object, or if a number in it would change on its way, such as
   * an integer that a double cannot hold.
   */
  readonly params: string;
  /** Milliseconds without an answer or progress. 0: no limit. Default 60 000. */
  readonly timeout?: number | undefined;
}

/** What became of a request. */
export interface RequestOutcome {
  readonly result?: JsonObject | undefined;
  /** The error of the server, or what happened to the connection. */
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
