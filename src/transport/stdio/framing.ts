import { BatchAnswers, type OpenedBatch } from '../../jsonrpc/batch.ts';
import { ErrorCode } from '../../jsonrpc/errors.ts';
import {
  errorResponse,
  isObject,
  isRequest,
  isRequestId,
  type Message,
  type RequestId,
} from '../../jsonrpc/message.ts';
import { InvalidMessage, InvalidResponse, checkMessage, invalidRequest, parseJson } from '../../jsonrpc/parse.ts';
import { profileOf, type RevisionProfile } from '../../protocol/revisions.ts';
import { admitBatch, idInUse } from '../batches.ts';
import { cancelledBy, InFlight } from '../in-flight.ts';
import { MAX_AT_ONCE } from '../../base/parsed-at-once.ts';
import { receiveBudgetExceeded } from '../../base/receive-budget.ts';
import { LineReader } from './lines.ts';
import { Noise } from './noise.ts';
import { MAX_SEARCHED, MessageSkim, type Envelope } from '../../jsonrpc/skim.ts';
import { stringify, stringifyBatch } from '../../jsonrpc/stringify.ts';

/** The error that replaces a result. */
const NO_ROOM = 'The response was dropped: too many unread bytes wait for the peer';

export interface FramingSink {
  /**
   * @param bytes its approximate size.
   * @param cause why the peer's own response was lost, if this is an error response that replaces it.
   */
  deliver(message: Message, bytes: number, cause?: Error): void;
  /** One line of JSON that the transport itself sends to the peer. */
  answer(json: string): void;
  report(error: Error): void;
  /**
   * The connection must close: a line above the limit was skipped, and it may have been the response to any request, or
   * a server writes too many lines that are not messages.
   */
  lost(error: Error): void;
}

/** Replaces the sink after `stop`, and ignores everything. */
const SILENT: FramingSink = { deliver() {}, answer() {}, report() {}, lost() {} };

export interface FramingOptions {
  /**
   * Whether every invalid line is answered with an error, as a server does. A client reports such lines, and answers
   * only those that must have been requests, with their id.
   */
  readonly answerInvalid: boolean;
  /** The size limit of one line, in bytes. */
  readonly maxMessageBytes: number;
}

/**
 * Turns the bytes of one connection into messages, and messages into lines. Does no I/O.
 *
 * All requests share the channel, and only the id says which request a response belongs to. So an error about a message
 * without an id of its own is sent without an id.
 */
export class Framing {
  readonly inFlight = new InFlight();
  #sink: FramingSink;
  readonly #answerInvalid: boolean;
  readonly #lines: LineReader;
  readonly #answers = new BatchAnswers();
  /** Undefined for a server: it answers each invalid line, which slows down a client that writes many. */
  readonly #noise: Noise | undefined;
  /** The number of lines so far that were not messages. */
  #invalidLines = 0;
  #profile: RevisionProfile | undefined;

  constructor(sink: FramingSink, { answerInvalid, maxMessageBytes }: FramingOptions) {
    this.#sink = sink;
    this.#answerInvalid = answerInvalid;
    this.#noise = answerInvalid ? undefined : new Noise();
    const tooLong = `a message may have at most ${maxMessageBytes} bytes`;
    this.#lines = new LineReader(
      {
        line: (text) => this.#line(text),
        invalidUtf8: (line) => {
          this.#malformed(answerInvalid ? notUtf8() : whyNotUtf8(line));
          this.#countNoise();
        },
        noRoom: () => this.#sink.lost(receiveBudgetExceeded()),
        tooLong: () => {
          if (answerInvalid) this.#invalid(invalidRequest(tooLong));
        },
        ...(!answerInvalid && {
          skipped: (envelope) => this.#skipped(envelope, tooLong),
          endless: () => this.#sink.lost(invalidRequest(tooLong)),
        }),
      },
      maxMessageBytes,
    );
  }

  setProtocolVersion(version: string): void {
    this.#profile = profileOf(version);
  }

  /** Returns whether the bytes contained lines that are not messages. Such a line costs more time than a message. */
  push(bytes: Uint8Array): boolean {
    const before = this.#invalidLines;
    // Stryker disable next-line ConditionalExpression: only saves reading bytes that have no effect
    if (this.#sink !== SILENT) this.#lines.push(bytes);
    return this.#invalidLines !== before;
  }

  /** Whether these bytes complete a message that may take long to parse. */
  completesLarge(bytes: Uint8Array): boolean {
    return this.#lines.endsLonger(MAX_AT_ONCE, bytes);
  }

  /** From now on, nothing is delivered, answered or reported. */
  stop(): void {
    this.#sink = SILENT;
    this.#lines.close();
  }

  /**
   * The line for an outgoing message, without its newline. Undefined if it waits for the rest of its batch.
   *
   * @param room the most characters of a result. A longer one is replaced by an error.
   * @throws TypeError (or RangeError) if the message cannot be written as JSON.
   */
  encode(given: Message, room = Infinity): string | undefined {
    let message = given;
    // JSON has no raw newline inside strings, so no line contains one (2025-11-25, basic/transports: stdio).
    let json: string | undefined = stringify(message);
    if (json === undefined) throw new TypeError('The message cannot be written as JSON');
    if (json.length > room && 'result' in message) {
      message = errorResponse(message.id, { code: ErrorCode.InternalError, message: NO_ROOM });
      json = stringify(message);
      this.#report(new Error(NO_ROOM));
    }
    this.inFlight.settle(message);
    const ready = this.#answers.take(message);
    // Stryker disable next-line ConditionalExpression: saves writing the message a second time
    return Array.isArray(ready) ? stringifyBatch(ready) : ready && json;
  }

  /** Reports an invalid message and answers it. The answer has an id only if one is given. */
  #invalid(error: InvalidMessage, id?: RequestId): void {
    if (this.#answerInvalid || id !== undefined) this.#sink.answer(JSON.stringify(errorResponse(id, error.toObject())));
    this.#report(error);
  }

  #report(error: Error): void {
    const reported = this.#noise ? this.#noise.report(error) : error;
    if (reported) this.#sink.report(reported);
  }

  #countNoise(): void {
    // Stryker disable next-line AssignmentOperator: only whether it changes matters
    this.#invalidLines += 1;
    const tooMany = this.#noise?.count();
    if (tooMany) this.#sink.lost(tooMany);
  }

  /** Fails the request whose response was above the limit. */
  #skipped({ kind, id, hasMethod }: Envelope, why: string): void {
    const error = invalidRequest(why, id);
    // Only a response answers a request.
    if (kind === 'other' || hasMethod) return this.#malformed(error);
    if (id === undefined) return this.#sink.lost(error);
    const response = new InvalidResponse(why, id);
    this.#sink.report(response);
    this.#deliver(response.failure!, 0, response);
  }

  #line(text: string): void {
    // After the transport has stopped, the last chunk may still hold lines.
    if (this.#sink === SILENT) return;
    // Stryker disable next-line ConditionalExpression: a line that is skipped is invalid, so this only saves time
    if (this.#noise?.skips(text)) return this.#countNoise();
    let message: Message;
    try {
      const value = parseJson(text);
      if (Array.isArray(value)) return this.#batch(value, text.length);
      message = checkMessage(value);
    } catch (error) {
      // Stryker disable next-line ConditionalExpression: nothing else is thrown
      if (!(error instanceof InvalidMessage)) throw error;
      this.#malformed(error);
      return this.#countNoise();
    }
    this.#noise?.end();
    if (isRequest(message) && this.inFlight.has(message.id)) this.#refuse(idInUse(message.id));
    else this.#deliver(message, text.length);
  }

  #malformed(error: InvalidMessage): void {
    // A message from a server that has no method, result or error can only be meant as a response.
    if (error instanceof InvalidResponse || (error.failure && !this.#answerInvalid)) {
      this.#report(error);
      if (error.failure) this.#deliver(error.failure, 0);
      return;
    }
    this.#invalid(error, this.inFlight.has(error.id) ? undefined : error.id);
  }

  /**
   * Refuses a request whose id is in use. The error has no id, because the peer would take it for the response to the
   * other request.
   */
  #refuse(error: InvalidMessage): void {
    this.#sink.answer(JSON.stringify(errorResponse(undefined, error.toObject())));
    this.#sink.report(error);
  }

  #deliver(message: Message, bytes: number, cause?: Error): void {
    // A client answers requests only in handshake revisions. In others they would be in flight for ever.
    if (this.#answerInvalid || this.#profile?.era === 'legacy') this.inFlight.add(message);
    this.#sink.deliver(message, bytes, cause);
    const cancelled = cancelledBy(message);
    const rest = this.#answers.abandon(cancelled);
    if (rest) this.#sink.answer(stringifyBatch(rest));
  }

  #batch(elements: readonly unknown[], bytes: number): void {
    let batch: OpenedBatch;
    try {
      batch = admitBatch(elements, {
        profile: this.#profile,
        inUse: (id) => this.inFlight.has(id),
        answerInvalid: this.#answerInvalid,
        refused: (error) => this.#report(error),
      });
    } catch (error) {
      // Stryker disable next-line ConditionalExpression: nothing else is thrown
      if (!(error instanceof InvalidMessage)) throw error;
      this.#malformed(error);
      this.#failAll(elements, error);
      return this.#countNoise();
    }
    const { messages } = batch;
    if (messages.length > 0) this.#noise?.end();
    else this.#countNoise();
    const ready = this.#answers.add(batch);
    if (ready) this.#sink.answer(stringifyBatch(ready));
    for (const message of messages) {
      this.#deliver(message, bytes / batch.messages.length);
    }
  }

  /** Fails the requests that a refused batch answers, because no other response will come for them. */
  #failAll(elements: readonly unknown[], cause: InvalidMessage): void {
    const error = { code: cause.code, message: `The response came in a batch that was refused: ${cause.message}` };
    for (const element of elements) {
      if (!isObject(element) || element['method'] !== undefined || !isRequestId(element['id'])) continue;
      this.#deliver(errorResponse(element['id'], error), 0, cause);
    }
  }
}

/** The error of a server's line. If the line is a response, it fails the request. */
function whyNotUtf8(line: Uint8Array): InvalidMessage {
  const skim = new MessageSkim(MAX_SEARCHED);
  skim.push(line);
  const { whole, id, outcome, hasMethod } = skim.envelope;
  return whole && id !== undefined && outcome && !hasMethod
    ? new InvalidResponse('a message must be valid UTF-8', id)
    : notUtf8();
}

function notUtf8(): InvalidMessage {
  return new InvalidMessage(ErrorCode.ParseError, 'Parse error: not valid UTF-8');
}
