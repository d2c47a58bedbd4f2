import * as http from 'node:http';
import * as https from 'node:https';
import type { Socket } from 'node:net';
import { urlToHttpOptions } from 'node:url';
import { startTimer, type Timer } from '../../../base/timer.ts';
import type { Lifetime } from '../../../base/lifetime.ts';
import { BodyBuffer } from '../body-buffer.ts';
import { AnswerLost, shown } from './errors.ts';
import { NotSent, type HttpReply, type HttpRequest, type HttpSend } from './http.ts';
import { proxyFor, watchProxy, type Proxy } from './proxy.ts';

export interface NodeHttpOptions {
  /** The limit for name resolution, connection and TLS together. Milliseconds, default 10 000; 0 for no limit. */
  readonly connectTimeout?: number;
  /** The largest size of the response headers, in bytes. Default 16 KiB. */
  readonly maxHeaderBytes?: number;
  /**
   * Replaces the client's own agents, for certificates, or for a proxy that the environment does not name. The client's
   * own agents keep an idle connection for half the time that the server says, or 2.5 seconds.
   */
  readonly httpAgent?: http.Agent;
  readonly httpsAgent?: https.Agent;
}

/**
 * How long a server keeps an idle connection if it does not say: the default of `node:http` and of Python's uvicorn.
 * Milliseconds.
 */
const SERVER_IDLE_TIMEOUT = 5000;
/**
 * How much earlier than the server the client closes an idle connection, as a fraction of the server's time. If a request
 * is sent while the server closes the connection, it fails, and it is unknown whether it ran. On a busy machine either
 * side may be seconds late.
 */
const MARGIN = 0.5;
/** After this many milliseconds of silence, TCP keep-alive checks the peer. */
const PROBE_AFTER = 30_000;

/** Up to this many bytes of an unwanted body are read so that the connection can be reused. */
const MAX_DISCARDED = 64 * 1024;
/** How many unwanted bodies are read at a time. Above this, the oldest connection is closed: its body may never end. */
const MAX_DISCARDING = 32;
/** The unwanted bodies of all servers that have not ended yet, the oldest first. */
const discarding = new Set<http.IncomingMessage>();

const AGENT_OPTIONS = { keepAlive: true, keepAliveInitialDelay: PROBE_AFTER };

/** How long the server keeps each idle connection, as its `Keep-Alive` header says. Milliseconds. */
const hints = new WeakMap<Socket, number>();

function takeHint({ headers, socket }: http.IncomingMessage): void {
  const hint = headers['keep-alive'];
  const seconds = typeof hint !== 'string' ? undefined : /\btimeout=(\d{1,6})/i.exec(hint)?.[1];
  if (seconds !== undefined) hints.set(socket, Number(seconds) * 1000);
}

/**
 * Makes an agent close idle connections before the server does. Without this, an agent follows the server's time only
 * if that is below the agent's own limit.
 */
function shortIdle<T extends http.Agent>(agent: T): T {
  // `node:http` calls this for each connection that becomes idle, and closes the connection at its timeout.
  (agent as unknown as { keepSocketAlive(socket: Socket): boolean }).keepSocketAlive = (socket) => {
    const idle = (hints.get(socket) ?? SERVER_IDLE_TIMEOUT) * MARGIN;
    if (idle <= 0) return false;
    socket.unref();
    if (socket.timeout !== idle) socket.setTimeout(idle);
    return true;
  };
  return agent;
}

/** Sends requests with `node:http` and `node:https`, over kept-alive connections. */
export function nodeHttp(options: NodeHttpOptions = {}): HttpSend {
  const { connectTimeout = 10_000, maxHeaderBytes = 16 * 1024 } = options;
  let { httpAgent, httpsAgent } = options;
  const once = async (request: HttpRequest): Promise<HttpReply> => {
    const secure = request.url.protocol === 'https:';
    const given = (secure ? options.httpsAgent : options.httpAgent) !== undefined;
    const server = targetOf(request.url);
    if (!given && server.proxy === undefined) server.proxy = (await proxyFor(request.url)) ?? null;
    const proxy = given ? undefined : (server.proxy ?? undefined);
    const agent =
      proxy?.agent ??
      (secure
        ? (httpsAgent ??= shortIdle(new https.Agent(AGENT_OPTIONS)))
        : (httpAgent ??= shortIdle(new http.Agent(AGENT_OPTIONS))));
    const plain = given || proxy ? undefined : headerList(request);
    const headers = plain ?? { 'accept-encoding': 'identity', ...request.headers };
    return exchange(request, headers, secure, agent, proxy, connectTimeout, maxHeaderBytes);
  };
  const send = (request: HttpRequest): Promise<HttpReply> =>
    once(request).catch((error: unknown) => {
      if (error instanceof StaleConnection) return once(request);
      throw error;
    });
  const close = (): void => {
    if (!options.httpAgent) httpAgent?.destroy();
    if (!options.httpsAgent) httpsAgent?.destroy();
  };
  return Object.assign(send, { close });
}

/** A server that has closed one idle connection may have closed all of them. The next request opens a new one. */
function closeIdle(agent: http.Agent): void {
  for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
}

/** The server had already closed this kept-alive connection when the request was written to it. */
class StaleConnection extends NotSent {}

/** Headers that change how `node:http` sends a request. */
const TELLING = ['host', 'content-length', 'transfer-encoding', 'expect', 'connection', 'accept-encoding'] as const;

/**
 * The request headers as alternating names and values, which `node:http` writes unchanged. Setting them one by one
 * costs several times as much. Undefined if `node:http` must handle some of them. Not for a user's agents, which may
 * add headers.
 */
function headerList({ url, headers, body }: HttpRequest): string[] | undefined {
  if (body === undefined || targetOf(url).options.auth !== undefined || TELLING.some((name) => name in headers))
    return undefined;
  const list = ['host', url.host, 'accept-encoding', 'identity', 'content-length', `${Buffer.byteLength(body)}`];
  for (const name of Object.keys(headers)) list.push(name, headers[name]!);
  return list;
}

function exchange(
  request: HttpRequest,
  headers: http.OutgoingHttpHeaders | readonly string[],
  secure: boolean,
  agent: http.Agent,
  proxy: Proxy | undefined,
  connectTimeout: number,
  maxHeaderSize: number,
): Promise<HttpReply> {
  const { url, method, body, cancellation } = request;
  return new Promise((resolve, reject) => {
    if (cancellation?.ended) return reject(cancellation.ended);
    /** Whether any part of the request may have been sent. False while there is no connection. */
    let connected = false;
    let answered = false;
    let timer: Timer;
    const client = (secure ? https : http).request({
      ...targetOf(url).options,
      method,
      headers,
      agent,
      maxHeaderSize,
    });
    const cancel = (): void => {
      clearTimeout(timer);
      reject(cancellation!.ended!);
      client.destroy();
    };
    cancellation?.onAbort(cancel);
    const fail = (cause: NodeJS.ErrnoException): void => {
      clearTimeout(timer);
      if (client.reusedSocket && !cancellation?.ended) closeIdle(agent);
      reject(sendError(cause, connected, client.reusedSocket, body !== undefined, url, proxy));
    };
    const onTimeout = (): void => {
      const cause = new Error(`no connection within ${connectTimeout} ms`);
      client.destroy(cause);
      // Without a socket, `destroy` fires no event.
      fail(cause);
    };
    if (proxy) {
      watchProxy(client, proxy);
      timer = startTimer(connectTimeout, onTimeout);
    }
    client.on('socket', (socket) => {
      clearTimeout(timer);
      if (client.reusedSocket || (!socket.connecting && !proxy?.tunnels)) {
        connected = true;
        return;
      }
      timer = startTimer(connectTimeout, onTimeout);
      socket.once(secure ? 'secureConnect' : 'connect', () => {
        connected = true;
        clearTimeout(timer);
      });
    });
    client.on('error', fail);
    client.on('upgrade', (_response, socket) => {
      socket.destroy();
      reject(new AnswerLost(`${shown(url)} switched to another protocol, although the client did not ask for it`));
    });
    client.on('close', () => {
      clearTimeout(timer);
      cancellation?.offAbort(cancel);
      if (!answered) reject(sendError(new Error('the connection was closed'), connected, false, false, url, proxy));
    });
    client.on('response', (response) => {
      if (client.destroyed) return;
      answered = true;
      takeHint(response);
      const encoding = response.headers['content-encoding'];
      if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
        client.destroy();
        reject(new AnswerLost(`${shown(url)} sent its response as ${encoding}, which the client does not accept`));
        return;
      }
      resolve(new NodeReply(response, url, cancellation));
    });
    client.end(body);
  });
}

/** What requests to a URL have in common. */
interface Target {
  readonly href: string;
  readonly options: http.RequestOptions;
  /** Undefined until the environment has been read, and null if no proxy is used. */
  proxy: Proxy | null | undefined;
}

/** The targets of URLs that are used repeatedly. */
const targets = new WeakMap<URL, Target>();

function targetOf(url: URL): Target {
  const known = targets.get(url);
  if (known?.href === url.href) return known;
  const { protocol, hostname, port, path, auth } = urlToHttpOptions(url);
  const options = { protocol, hostname, port, path, ...(auth === undefined ? {} : { auth }) };
  const made: Target = { href: url.href, options, proxy: undefined };
  targets.set(url, made);
  return made;
}

function sendError(
  cause: NodeJS.ErrnoException,
  connected: boolean,
  reused: boolean,
  hasBody: boolean,
  url: URL,
  proxy: Proxy | undefined,
): Error {
  const why = cause.message || cause.code || 'unknown';
  const through = proxy ? ` through the proxy ${proxy.name}` : '';
  if (!connected || cause instanceof NotSent) {
    return new NotSent(`${shown(url)} cannot be reached${through}: ${why}`, { cause });
  }
  // The system did not accept the whole request, so the server cannot have the whole body.
  if (reused && hasBody && cause.syscall === 'write') {
    return new StaleConnection(`${shown(url)} closed the connection: ${why}`, { cause });
  }
  return new AnswerLost(`The connection to ${shown(url)}${through} was lost before an answer came: ${why}`, { cause });
}

class NodeReply implements HttpReply {
  readonly status: number;
  readonly #response: http.IncomingMessage;
  readonly #url: URL;
  readonly #cancellation: Lifetime | undefined;

  constructor(response: http.IncomingMessage, url: URL, cancellation: Lifetime | undefined) {
    this.status = response.statusCode ?? 0;
    this.#response = response;
    this.#url = url;
    this.#cancellation = cancellation;
    // A discarded body may fail later, when nothing else listens for the error.
    response.on('error', ignore);
  }

  header(name: string): string | undefined {
    const value = this.#response.headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  }

  text(limit: number): Promise<string> {
    const response = this.#response;
    return new Promise((resolve, reject) => {
      const tooLarge = (): void => {
        reject(new AnswerLost(`The answer of ${shown(this.#url)} is larger than ${limit} bytes`));
        response.destroy();
      };
      response.on('close', () => {
        if (!response.readableEnded) reject(this.#lost(undefined));
      });
      // Usually the whole body has arrived with the headers and only its end is missing. Then the connection can be
      // reused.
      if (response.complete) {
        const body = response.read() as Buffer | null;
        if (body && body.length > limit) tooLarge();
        else response.on('end', () => resolve(body?.toString() ?? ''));
        return;
      }
      const body = new BodyBuffer();
      response.on('data', (chunk: Buffer) => {
        if (body.length + chunk.length <= limit) body.push(chunk);
        else tooLarge();
      });
      response.on('end', () => resolve(Buffer.from(body.take()).toString()));
      response.on('error', (cause) => reject(this.#lost(cause)));
    });
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    try {
      yield* this.#response as AsyncIterable<Uint8Array>;
    } catch (error) {
      throw this.#lost(error);
    }
  }

  discard(): void {
    const response = this.#response;
    const length = Number(response.headers['content-length'] ?? Number.NaN);
    if (length > MAX_DISCARDED || this.header('content-type')?.startsWith('text/event-stream')) {
      response.destroy();
      return;
    }
    response.resume();
    if (response.complete) return;
    discarding.add(response);
    response.on('close', () => discarding.delete(response));
    if (discarding.size > MAX_DISCARDING) {
      const [oldest] = discarding;
      discarding.delete(oldest!);
      oldest!.destroy();
    }
    let left = MAX_DISCARDED;
    response.on('data', (chunk: Buffer) => {
      left -= chunk.length;
      if (left < 0) response.destroy();
    });
  }

  #lost(cause: unknown): Error {
    if (this.#cancellation?.ended) return this.#cancellation.ended;
    const why = cause instanceof Error ? `: ${cause.message}` : '';
    return new AnswerLost(`The answer of ${shown(this.#url)} ended too early${why}`, { cause });
  }
}

function ignore(): void {}
