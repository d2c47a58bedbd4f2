import type { JsonObject } from '../../jsonrpc/message.ts';
import type { Revision } from '../../protocol/revisions.ts';
import type { Conversation } from './conversation.ts';
import type { EventFrame } from './event-frame.ts';
import type { HttpHead } from './http-head.ts';
import type { SeenRequest } from './requests.ts';

/** The most messages of a batch that are judged together. */
export const MAX_BATCH = 100;

/** A message in the body of a request. */
export interface PostedMessage {
  readonly kind: string;
  readonly method: string;
  readonly message: JsonObject;
  readonly params: JsonObject;
}

/** One HTTP request and its response. */
export class Exchange {
  readonly key: string;
  readonly conn: number;
  readonly role: string;
  readonly request: HttpHead;
  /** The number of the record with the head of the request. */
  readonly n: number;
  readonly method: string;
  /** The target of the request: path and query. */
  readonly target: string;
  /** The messages in the request. */
  readonly messages: PostedMessage[] = [];
  /** The requests of the client in it that are not answered yet. */
  readonly waiting = new Set<SeenRequest>();
  /** Whether it carries MCP: it has a message, or asks for an event stream or the end of a session. */
  isMcp = false;
  /** Whether it opens a session. */
  initializes = false;
  /** Whether its body has a message, and whether this is a request. */
  hasMessage = false;
  hasRequest = false;
  /** Whether the client sent requests in it. */
  asks = false;
  /** Whether it is judged already. */
  hasBegun = false;
  revisions: readonly Revision[] = [];
  conversation: Conversation | undefined;
  response: HttpHead | undefined;
  /** The number of the record with the head of the response. */
  responseN = 0;
  status = 0;
  /** How many events the response has, without comments, and the newest frame. */
  events = 0;
  frame: EventFrame | undefined;
  frameN = 0;
  /** The exchange that began its stream. Undefined if it resumes one that is not known. */
  stream: string | undefined;
  /** Whether the newest frame was seen before, so that it is sent again to a client that resumes. */
  isReplay = false;
  /** The newest id of an event. */
  lastEventId: string | undefined;
  /** Whether an event named how long to wait before a reconnection. */
  hasRetry = false;
  /** The bytes of the response's content. */
  contentSize = 0;
  /** Whether the response has ended, and not only the capture of it. */
  isWhole = false;

  constructor(
    place: { readonly conn: number; readonly exchange: number; readonly n: number },
    role: string,
    head: HttpHead,
  ) {
    this.key = `${place.conn}/${place.exchange}`;
    this.stream = this.key;
    this.conn = place.conn;
    this.role = role;
    this.request = head;
    this.n = place.n;
    const [method = '', target = ''] = head.firstLine.split(' ');
    this.method = method;
    this.target = target;
  }

  /** Whether the response's content is compressed, so that nothing is known about it. */
  get isOpaque(): boolean {
    const coding = this.response?.get('content-encoding');
    return coding !== undefined && coding.toLowerCase() !== 'identity';
  }

  get isChunked(): boolean {
    return this.response?.get('transfer-encoding') !== undefined;
  }

  /** Counts a chunk of the response, whose size line and end are not content. */
  addChunk([start = 0, end = 0]: readonly number[]): void {
    // The last chunk is `0`, two line ends and perhaps trailers, and a chunk with content has at least six bytes.
    this.contentSize += Math.max(0, end - start - 5);
  }

  get isStream(): boolean {
    return this.response?.mediaType === 'text/event-stream';
  }

  /** Whether it resumes an earlier stream. */
  get resumes(): boolean {
    return this.request.get('last-event-id') !== undefined;
  }
}
