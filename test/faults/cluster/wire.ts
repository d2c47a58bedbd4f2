import { Agent, request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { PROCESS_HEADER } from './front.ts';

export type JsonObject = Record<string, any>;
export type Headers = Readonly<Record<string, string>>;

const JSON_TYPE = 'application/json';
export const POST_HEADERS: Headers = { 'content-type': JSON_TYPE, accept: `${JSON_TYPE}, text/event-stream` };

/** Statuses which say that a request certainly did not run, as `HttpStatusError` of the library has them. */
const NOT_RUN: ReadonlySet<number> = new Set([401, 403, 404, 405, 406, 413, 415, 429, 431]);

/** The connections of all clients that send plain HTTP. The front never closes one that is idle. */
const agent = new Agent({ keepAlive: true });

/** Closes the connections. */
export function closeWire(): void {
  agent.destroy();
}

/** A refusal by its HTTP status. */
export class Refused extends Error {
  readonly status: number;
  readonly notRun: boolean;
  readonly process: string | undefined;

  constructor(status: number, body: string, process?: string) {
    super(messageIn(body) || body || `status ${status}`);
    this.status = status;
    this.process = process;
    this.notRun = NOT_RUN.has(status) || saysNotRun(body);
  }
}

/** The connection broke before the end of the response. */
export class Lost extends Error {}

/** Sends a request. Resolves with a response whose status is 200. @throws Refused, Lost */
export async function send(
  url: string,
  method: string,
  headers: Headers,
  body: string | undefined,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const response = await responseTo(url, method, headers, body, signal);
  if (response.statusCode === 200) return response;
  throw new Refused(response.statusCode!, await text(response).catch(() => ''), processOf(response));
}

/** The process that gave a response. Undefined if the front gave it. */
export function processOf({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined {
  return headers[PROCESS_HEADER] as string | undefined;
}

/** Sends a request. Resolves with its status and its body. @throws Lost */
export async function exchange(
  url: string,
  method: string,
  headers: Headers,
  body: string | undefined,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly headers: IncomingMessage['headers']; readonly body: string }> {
  const response = await responseTo(url, method, headers, body, signal);
  try {
    return { status: response.statusCode!, headers: response.headers, body: await text(response) };
  } catch (error) {
    throw new Lost('the response was cut', { cause: error });
  }
}

function responseTo(
  url: string,
  method: string,
  headers: Headers,
  body: string | undefined,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const length: Headers = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const sent = request(url, { method, agent, headers: { ...headers, ...length }, signal });
    sent.on('error', (error) => reject(new Lost(error.message, { cause: error })));
    sent.on('response', (response) => {
      response.on('error', () => {});
      resolve(response);
    });
    sent.end(body);
  });
}

export interface WireEvent {
  readonly id: string | undefined;
  readonly type: string | undefined;
  readonly data: string;
  readonly message: JsonObject | undefined;
}

/** The events of a response, or its only message. Ends also if the connection breaks. */
export async function* eventsOf(response: IncomingMessage): AsyncGenerator<WireEvent> {
  if (!response.headers['content-type']?.startsWith('text/event-stream')) {
    const body = await text(response).catch(() => '');
    if (body !== '') yield { id: undefined, type: undefined, data: body, message: JSON.parse(body) as JsonObject };
    return;
  }
  let rest = '';
  response.setEncoding('utf8');
  try {
    for await (const chunk of response) {
      rest += String(chunk);
      for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
        const fields = new Map<string, string>();
        for (const line of rest.slice(0, end).split('\n')) {
          const colon = line.indexOf(':');
          if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 1).replace(/^ /, ''));
        }
        rest = rest.slice(end + 2);
        const data = fields.get('data') ?? '';
        const message = data.startsWith('{') ? (JSON.parse(data) as JsonObject) : undefined;
        yield { id: fields.get('id'), type: fields.get('event'), data, message };
      }
    }
  } catch {
    // What came before is right.
  }
}

function saysNotRun(body: string): boolean {
  return parsed(body)?.['error']?.data?.notExecuted === true;
}

function messageIn(body: string): string {
  return String(parsed(body)?.['error']?.message ?? '');
}

function parsed(body: string): JsonObject | undefined {
  try {
    return JSON.parse(body) as JsonObject;
  } catch {
    return undefined;
  }
}
