import { Transform } from 'node:stream';
import type { Breakpoints, Decision, Passage, PassingMessage } from '../inspect/breakpoints/breakpoints.ts';
import { exactObject } from '../inspect/page-server/exact-json.ts';
import { isObject, isRequestId, type JsonObject, type RequestId } from '../jsonrpc/message.ts';
import { parseJson } from '../jsonrpc/parse.ts';
import { Method, NotificationMethod } from '../protocol/methods.ts';
import { corrupted } from './corrupted.ts';
import { parseAnswer, parseRequest, textOf, type Content } from './message-text.ts';
import { ExpectedFaults, type ResponseFault } from './response-faults.ts';

/** A longer line passes as it comes. Bytes. */
const MAX_LINE = 16 * 1024 * 1024;
/** How many requests are remembered for their answers, in each direction. */
const MAX_REQUESTS = 10_000;
/** Who sends the requests to the server. It has no name without a handshake. */
const HOST = 'the host';
const LINE_FEED = 10;

/** A request that came through a gate. Messages that belong to it are delayed together. */
interface PassedRequest {
  readonly method: string;
  readonly tool: string | undefined;
  readonly asked: number;
  readonly progressToken: RequestId | undefined;
  /** While the request or its answer waits. */
  passage?: Passage | undefined;
}

/** A line with a message. */
interface Line {
  readonly bytes: Buffer;
  readonly message: JsonObject;
}

/** Both directions of a pipe between a client and a server. */
export interface LineGates {
  readonly toServer: LineGate;
  readonly toClient: LineGate;
}

/**
 * Lets breakpoints decide about the lines that pass between a client and a server. While there is no rule, chunks pass
 * as they come. An answer is known by its request only if that came while there was a rule.
 */
export function lineGates(breakpoints: Breakpoints): LineGates {
  const faults = new ExpectedFaults(breakpoints);
  const toServer = new LineGate('c>s', breakpoints, faults);
  const toClient = new LineGate('s>c', breakpoints, faults);
  toServer.peer = toClient;
  toClient.peer = toServer;
  return { toServer, toClient };
}

/** One direction of a pipe. */
export class LineGate {
  /** What comes in goes out of it. */
  readonly stream: Transform;
  /** Called when a response was cut off. Nothing more goes out. */
  oncut: (() => void) | undefined;
  /** The other direction. */
  peer!: LineGate;
  readonly #dir: PassingMessage['dir'];
  readonly #breakpoints: Breakpoints;
  readonly #faults: ExpectedFaults;
  readonly #requests = new Map<RequestId, PassedRequest>();
  /** The same requests by their progress tokens. */
  readonly #byToken = new Map<RequestId, PassedRequest>();
  /** What waits, the oldest first. */
  readonly #passages = new Set<Passage>();
  /** The ids of requests that were sent twice. Nobody waits for their second answers. */
  readonly #unwanted = new Set<RequestId>();
  /** The beginning of a line that is not complete. */
  #begun: Buffer[] = [];
  #size = 0;
  /** Whether the beginning of a line has passed, and its end has not. */
  #isInLine = false;
  /** Complete lines that go on after that line. */
  #afterLine: Buffer[] = [];
  #isOver = false;

  constructor(dir: PassingMessage['dir'], breakpoints: Breakpoints, faults: ExpectedFaults) {
    this.#dir = dir;
    this.#breakpoints = breakpoints;
    this.#faults = faults;
    this.stream = new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        this.#take(chunk);
        done();
      },
      flush: (done) => {
        this.release();
        this.#passBegun();
        for (const line of this.#afterLine.splice(0)) this.#push(Buffer.concat([Buffer.of(LINE_FEED), line]));
        this.#isOver = true;
        done();
      },
    });
  }

  /** Lets everything go on that waits. */
  release(): void {
    for (const passage of [...this.#passages]) passage.release();
  }

  get #isActive(): boolean {
    return this.#breakpoints.isActive || !this.#faults.isEmpty || this.#unwanted.size > 0;
  }

  #take(chunk: Buffer): void {
    if (!this.#isActive) {
      this.#passBegun();
      return this.#passRaw(chunk);
    }
    let at = 0;
    if (this.#isInLine) {
      at = chunk.indexOf(LINE_FEED) + 1 || chunk.length;
      this.#passRaw(chunk.subarray(0, at));
    }
    for (let end = chunk.indexOf(LINE_FEED, at); end !== -1; end = chunk.indexOf(LINE_FEED, at)) {
      const line = Buffer.concat([...this.#begun, chunk.subarray(at, end + 1)]);
      this.#forgetBegun();
      at = end + 1;
      this.#takeLine(line);
    }
    const rest = chunk.subarray(at);
    if (rest.length === 0) return;
    this.#addBegun(rest);
    this.#size += rest.length;
    if (this.#size > MAX_LINE) this.#passBegun();
  }

  #takeLine(bytes: Buffer): void {
    const message = messageIn(bytes);
    if (message) return this.#takeMessage({ bytes, message });
    const opaque = { kind: 'batch', method: '', content: {}, text: () => '', parse: () => undefined } as const;
    const passage = this.#breakpoints.pass(() => ({
      ...opaque,
      ...{ dir: this.#dir, order: this, asked: Date.now(), isOpaque: true, size: () => bytes.length },
    }));
    if (passage) this.#wait(passage, undefined, () => this.#send(bytes));
    else this.#send(bytes);
  }

  #takeMessage(line: Line): void {
    const { message } = line;
    const { id } = message as { id?: RequestId };
    const isAnswer = message['method'] === undefined;
    if (isAnswer && this.#unwanted.delete(id!)) return;
    if (this.#dir === 'c>s') this.#faults.hear(message);
    if (message['method'] === NotificationMethod.Cancelled) this.#cancelled(message['params']);
    const request = isAnswer ? this.peer.#requests.get(id!) : this.#asked(message);
    const fault = this.#dir === 's>c' ? this.#faults.take(message) : undefined;
    const passage = this.#breakpoints.pass(() => this.#passing(line, request));
    const act = (decision: Decision): void => {
      if (isAnswer) this.peer.#forget(id!);
      this.#decided(line, decision, fault);
    };
    if (passage) this.#wait(passage, request, act);
    else act({ type: 'forward' });
  }

  #wait(passage: Passage, request: PassedRequest | undefined, then: (decision: Decision) => void): void {
    this.#passages.add(passage);
    if (request) request.passage = passage;
    passage.decided((decision) => {
      this.#passages.delete(passage);
      if (request?.passage === passage) request.passage = undefined;
      then(decision);
    });
  }

  #decided({ bytes, message }: Line, decision: Decision, fault: ResponseFault | undefined): void {
    const { id } = message;
    // The server will not answer what it does not get.
    if (this.#dir === 'c>s' && decision.type !== 'forward' && isRequestId(id)) this.#faults.forget(id);
    if (decision.type === 'drop') return;
    if (decision.type === 'answer') {
      return this.peer.#send(lineOf({ jsonrpc: '2.0', id, ...(decision.content as Content) }));
    }
    const sent = decision.content === undefined ? message : changed(message, decision.content as Content);
    this.#send(decision.content === undefined ? bytes : lineOf(sent), fault);
    if (decision.twice) this.#send(this.#copy(sent));
    if (decision.kills) this.#breakpoints.kill();
  }

  /** The second of two. A request has an id of its own. */
  #copy(message: JsonObject): Buffer {
    if (message['id'] === undefined) return lineOf(message);
    const id = `everwire-${crypto.randomUUID()}`;
    this.peer.#unwanted.add(id);
    const [oldest] = this.peer.#unwanted;
    if (this.peer.#unwanted.size > MAX_REQUESTS) this.peer.#unwanted.delete(oldest!);
    return lineOf({ ...message, id });
  }

  #passing({ bytes, message }: Line, request: PassedRequest | undefined): PassingMessage {
    const { method, id } = message;
    const isAnswer = method === undefined;
    const isOfHost = (this.#dir === 'c>s') === !isAnswer;
    const asked = request?.asked ?? Date.now();
    const content = contentOf(message);
    const read = isAnswer ? parseAnswer : parseRequest;
    return {
      ...{ dir: this.#dir, order: this, asked, content, tool: request?.tool },
      kind: isAnswer ? ('error' in message ? 'error' : 'result') : request ? 'request' : 'notification',
      method: (method as string | undefined) ?? request?.method ?? '',
      messageId: id === undefined ? undefined : JSON.stringify(id),
      client: isOfHost ? HOST : undefined,
      call: this.#dir === 's>c' ? (isAnswer ? request : this.#progressing(message)) : undefined,
      dur: isAnswer && isOfHost && request ? (Date.now() - asked) * 1000 : undefined,
      size: () => bytes.length,
      text: () => textOf(content),
      parse: (text) => {
        // Otherwise, a number that was not edited would change.
        exactObject(bytes.toString(), 'message');
        return read(text);
      },
      parseAnswer: isAnswer || !request ? undefined : parseAnswer,
    };
  }

  /** Remembers a request. Undefined for a notification. */
  #asked({ id, method, params }: JsonObject): PassedRequest | undefined {
    if (!isRequestId(id)) return undefined;
    const { name, _meta: meta }: JsonObject = isObject(params) ? params : {};
    const { progressToken }: JsonObject = isObject(meta) ? meta : {};
    const request: PassedRequest = {
      method: method as string,
      tool: method === Method.CallTool && typeof name === 'string' ? name : undefined,
      asked: Date.now(),
      progressToken: isRequestId(progressToken) ? progressToken : undefined,
    };
    this.#forget(id);
    this.#requests.set(id, request);
    if (request.progressToken !== undefined) this.#byToken.set(request.progressToken, request);
    const [oldest] = this.#requests.keys();
    if (this.#requests.size > MAX_REQUESTS) this.#forget(oldest!);
    return request;
  }

  #forget(id: RequestId): void {
    const request = this.#requests.get(id);
    if (!request) return;
    this.#requests.delete(id);
    const { progressToken } = request;
    // A later request may have the same token.
    if (progressToken !== undefined && this.#byToken.get(progressToken) === request)
      this.#byToken.delete(progressToken);
  }

  /** The sender of a request gave up. What waits of it cannot go on any more. */
  #cancelled(params: unknown): void {
    const { requestId, reason }: JsonObject = isObject(params) ? params : {};
    if (!isRequestId(requestId)) return;
    this.#faults.forget(requestId);
    this.#requests.get(requestId)?.passage?.cancel(typeof reason === 'string' ? reason : 'Cancelled');
  }

  /** The request whose progress a notification tells. */
  #progressing({ method, params }: JsonObject): PassedRequest | undefined {
    if (method !== NotificationMethod.Progress || !isObject(params)) return undefined;
    const { progressToken } = params;
    return isRequestId(progressToken) ? this.peer.#byToken.get(progressToken) : undefined;
  }

  /** Sends a complete line, after one that has begun. */
  #send(line: Buffer, fault?: ResponseFault): void {
    if (fault?.type === 'corrupt') line = corrupted(line);
    if (this.#isInLine) return void this.#afterLine.push(line);
    const isCut = fault?.type === 'cut' && fault.bytes < line.length;
    this.#push(isCut ? line.subarray(0, fault.bytes) : line);
    if (!isCut) return;
    this.#isOver = true;
    this.stream.push(null);
    this.oncut?.();
  }

  #passBegun(): void {
    const begun = this.#begun;
    this.#forgetBegun();
    for (const chunk of begun) this.#passRaw(chunk);
  }

  /** Joins small pieces, because each takes memory of its own, and a server may write a line byte by byte. */
  #addBegun(piece: Buffer): void {
    const pieces = this.#begun;
    pieces.push(piece);
    while (pieces.length > 1 && pieces.at(-2)!.length <= 2 * pieces.at(-1)!.length)
      pieces.push(Buffer.concat(pieces.splice(-2)));
  }

  #forgetBegun(): void {
    this.#begun = [];
    this.#size = 0;
  }

  #passRaw(chunk: Buffer): void {
    let at = 0;
    if (this.#afterLine.length > 0) {
      at = chunk.indexOf(LINE_FEED) + 1;
      if (at > 0) this.#push(Buffer.concat([chunk.subarray(0, at), ...this.#afterLine.splice(0)]));
    }
    this.#push(chunk.subarray(at));
    this.#isInLine = chunk.at(-1) !== LINE_FEED;
  }

  #push(bytes: Buffer): void {
    if (!this.#isOver && bytes.length > 0) this.stream.push(bytes);
  }
}

/** The message in a line. Undefined if it has none, or a batch. */
function messageIn(line: Buffer): JsonObject | undefined {
  let value: unknown;
  try {
    value = parseJson(line);
  } catch {
    return undefined;
  }
  if (!isObject(value)) return undefined;
  const { method, id, result, error } = value;
  if (method === undefined) return isRequestId(id) && (isObject(result) || isObject(error)) ? value : undefined;
  return typeof method === 'string' && (id === undefined || isRequestId(id)) ? value : undefined;
}

function contentOf({ method, params, result, error }: JsonObject): Content {
  if (method !== undefined) return { method: method as string, params: isObject(params) ? params : {} };
  return isObject(result) ? { result } : { error };
}

/** A message with another content. What belongs to its transport stays. */
function changed(message: JsonObject, content: Content): JsonObject {
  const { jsonrpc, id } = message;
  return { jsonrpc, id, ...content };
}

function lineOf(message: JsonObject): Buffer {
  return Buffer.from(`${JSON.stringify(message)}\n`);
}
