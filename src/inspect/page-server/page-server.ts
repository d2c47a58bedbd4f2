import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BreakpointControl } from '../breakpoints/breakpoint-api.ts';
import { PageAccess, PROTECTION, withFrames } from './access.ts';
import { isPosted } from './command-arguments.ts';
import { runCommand, type PageActions } from './commands.ts';
import { Outcomes } from './outcomes.ts';
import { streamLines } from './line-stream.ts';
import type { PageCommands } from './page-api.ts';
import { recordLines, type RecordSource } from './record-stream.ts';
import type { SessionCommands } from './session-api.ts';
import type { StateFeed } from './state-feed.ts';
import { readStaticFiles, type StaticFile } from './static-files.ts';
import { Strangers } from './strangers.ts';

/** What the server of the page serves. */
export interface PageServerOptions {
  readonly capture: RecordSource;
  /** What the page shows besides the records. */
  readonly feed: StateFeed;
  /** Runs the commands of the page. Default: every command is refused. */
  readonly commands?: PageCommands | undefined;
  /** Breakpoints for the messages that are shown. Their state becomes part of the feed. Default none. */
  readonly breakpoints?: BreakpointControl | undefined;
  /** Serves apps, which the page shows in frames. Default: it shows none. */
  readonly apps?: { readonly frames: string; embedIn(page: string): void } | undefined;
  /** Compares sessions. Default: the page cannot. */
  readonly sessions?: SessionCommands | undefined;
  /** The folder of the built page. Read once, at the start. */
  readonly folder: string;
  /** 0 picks a free port. */
  readonly port: number;
}

/** A server for the page of the inspector. */
export interface PageServer {
  /** The URL to open. Its fragment is a token that can be used once. Show it only to the user. */
  readonly url: string;
  /** The same for the command line of a browser, which other users can read. Works only for processes of this user. */
  readonly browserUrl: string;
  /**
   * Returns a new address. The token of the previous one is no longer accepted, but tabs that have used theirs keep
   * their access.
   */
  renew(): string;
  /** Ends all streams and connections. */
  close(): Promise<void>;
}

/** Only this machine can connect. No option changes that. */
const HOST = '127.0.0.1';
/**
 * The most pages at a time. Each has one stream, and a browser has six connections to a server: with six streams, no page
 * could send anything.
 */
const MAX_PAGES = 5;
/** The last line of a stream that gives way to a newer page. */
const REPLACED = `${JSON.stringify({
  closed: `The inspector is open in more than ${MAX_PAGES} tabs, so it no longer serves this one. Close another tab, and reload this one.`,
})}\n`;
const TEXT = { 'content-type': 'text/plain; charset=utf-8' } as const;
const STREAM = '/api/stream';
const FOREIGN = 'Only the page of the inspector may do this.';
const NEW_URL = 'Open the URL that Everwire printed last, or press Enter in its terminal for a new one.';
const USED = `This URL was already used, or is from before Everwire was started again. ${NEW_URL}`;
const UNKNOWN = `The inspector does not know this page: Everwire was started again, or has more than 8 tabs. ${NEW_URL}`;

/**
 * Serves the page of the inspector on 127.0.0.1, and the records of a capture to this page alone.
 *
 * - `GET` serves the files of the folder.
 * - `POST /api/key` exchanges the token of the address (`Everwire-Token`) for a key. It answers `{"key": …}`.
 * - With the key (`Everwire-Key`): `GET /api/stream?after=N`, `POST /api/<command>` (see
 *   `page-api.ts`).
 *
 * @throws Error if the port or the folder cannot be used.
 */
export async function servePage(options: PageServerOptions): Promise<PageServer> {
  const files = readStaticFiles(options.folder);
  const server = createServer();
  await listen(server, options.port);
  const { origin } = new URL(`http://${HOST}:${(server.address() as AddressInfo).port}`);
  const access = new PageAccess(origin);
  options.apps?.embedIn(origin);
  const requests = new PageRequests(options, files, access);
  server.on('connection', (socket) => requests.strangers.add(socket));
  server.on('request', (request, response) => requests.answer(request, response));
  // Without a listener, an error would end the process, for example when no file descriptors are left.
  server.on('error', () => {});
  let closed: Promise<void> | undefined;
  return {
    url: `${origin}/#${access.token}`,
    browserUrl: `${origin}/#${access.browserToken}`,
    renew: () => `${origin}/#${access.renew()}`,
    close: () => (closed ??= close(server)),
  };
}

/** Answers the requests of browsers. */
class PageRequests {
  readonly strangers = new Strangers();
  readonly #options: PageServerOptions;
  readonly #files: ReadonlyMap<string, StaticFile>;
  readonly #access: PageAccess;
  readonly #actions: PageActions;
  /** The streams that are open, the oldest first. */
  readonly #pages = new Set<ServerResponse>();

  constructor(options: PageServerOptions, files: ReadonlyMap<string, StaticFile>, access: PageAccess) {
    this.#options = options;
    this.#files = files;
    this.#access = access;
    const { commands, feed, breakpoints, sessions } = options;
    this.#actions = { commands, outcomes: commands && new Outcomes(feed, commands), breakpoints, sessions };
    if (breakpoints) showBreakpoints(breakpoints, feed);
  }

  answer(request: IncomingMessage, response: ServerResponse): void {
    const { url = '' } = request;
    const query = url.indexOf('?');
    const target = query === -1 ? url : url.slice(0, query);
    if (!this.#access.isOwnHost(request))
      refuse(response, 403, 'Open this page by its URL, which begins with http://127.0.0.1.');
    else if (target === STREAM || target === '/api/key' || isPosted(commandIn(target)))
      this.#control(request, response, target, url.slice(target.length));
    else this.#file(request, response, this.#files.get(target));
  }

  #control(request: IncomingMessage, response: ServerResponse, target: string, query: string): void {
    const allow = target === STREAM ? 'GET' : 'POST';
    const command = commandIn(target);
    if (!this.#access.isOwnPage(request)) refuse(response, 403, FOREIGN);
    else if (request.method !== allow) refuse(response, 405, `Use ${allow}.`, { allow });
    else if (target === '/api/key') this.#exchangeToken(request, response).catch(() => response.destroy());
    else if (!this.#access.hasKey(request)) refuse(response, 403, UNKNOWN);
    else {
      this.strangers.trust(request.socket);
      if (isPosted(command)) runCommand(command, this.#actions, request, response).catch(() => response.destroy());
      else this.#stream(response, query);
    }
  }

  async #exchangeToken(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const key = await this.#access.exchange(request);
    if (key === undefined) return refuse(response, 403, USED);
    response.writeHead(200, { ...PROTECTION, 'content-type': 'application/json' });
    response.end(JSON.stringify({ key }));
  }

  #stream(response: ServerResponse, query: string): void {
    const after = query === '' ? 0 : Number(/^\?after=(\d{1,15})$/.exec(query)?.[1]);
    if (Number.isNaN(after)) return refuse(response, 400, '"after" must be the number of a record.');
    this.#pages.add(response);
    response.once('close', () => this.#left(response));
    if (this.#pages.size === 1) this.#options.breakpoints?.watched(true);
    response.writeHead(200, { ...PROTECTION, 'content-type': 'application/x-ndjson' });
    const { capture, feed } = this.#options;
    const { target } = feed.state;
    streamLines(response, [
      (signal) => recordLines(capture, { after, target, signal }),
      (signal) => feed.lines(signal),
    ]).catch(() => response.destroy());
    const [oldest] = this.#pages;
    if (this.#pages.size <= MAX_PAGES) return;
    // The oldest may be one whose browser is gone without a sign, for example behind a tunnel.
    this.#left(oldest!);
    oldest!.end(REPLACED);
  }

  #left(page: ServerResponse): void {
    if (!this.#pages.delete(page) || this.#pages.size > 0) return;
    this.#actions.outcomes?.abandon();
    this.#options.breakpoints?.watched(false);
  }

  #file({ method }: IncomingMessage, response: ServerResponse, file: StaticFile | undefined): void {
    if (!file) return refuse(response, 404, 'There is nothing here.');
    if (method !== 'GET' && method !== 'HEAD') return refuse(response, 405, 'Use GET.', { allow: 'GET, HEAD' });
    response.writeHead(200, {
      ...withFrames(this.#options.apps?.frames),
      ...{ 'content-type': file.type, 'content-length': file.bytes.length },
    });
    response.end(method === 'HEAD' ? undefined : file.bytes);
  }
}

/** Shows each state of breakpoints. Many messages may be held in one turn of the event loop. */
function showBreakpoints(breakpoints: BreakpointControl, feed: StateFeed): void {
  let isScheduled = false;
  const show = (): void => {
    isScheduled = false;
    feed.update({ breakpoints: breakpoints.state });
  };
  breakpoints.onchange = () => {
    if (!isScheduled) setImmediate(show);
    isScheduled = true;
  };
  show();
}

/** The command that a path names. */
function commandIn(target: string): string {
  return target.startsWith('/api/') ? target.slice('/api/'.length) : '';
}

/** Refuses a request. Nothing more is read from its connection, because its body may be of any length. */
function refuse(response: ServerResponse, status: number, why: string, headers: OutgoingHttpHeaders = {}): void {
  response.writeHead(status, { ...PROTECTION, ...TEXT, ...headers, connection: 'close' });
  response.end(`${why}\n`);
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (cause: NodeJS.ErrnoException): void => {
      const why = cause.code === 'EADDRINUSE' ? 'is already in use' : `cannot be used: ${cause.message}`;
      reject(new Error(`port ${port} on ${HOST} ${why}`, { cause }));
    };
    server.once('error', fail);
    server.listen(port, HOST, () => {
      server.off('error', fail);
      resolve();
    });
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
