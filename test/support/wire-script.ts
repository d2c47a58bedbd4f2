import { Layering } from '../../src/inspect/layering.ts';
import type { WireEvent, WireRecord } from '../../src/inspect/record.ts';
import { lint, type Finding } from '../../src/lint/index.ts';

type Json = Record<string, any>;
type Direction = 'c>s' | 's>c';

/** Messages of a conversation that a test writes, as records of a capture. */
export class WireScript {
  readonly #events: WireEvent[] = [];
  readonly #offsets = new Map<string, number>();
  #connections = 0;
  #t = 0;

  open(protocol: 'stdio' | 'http', role: 'client' | 'server' = 'client'): number {
    this.#connections += 1;
    this.#events.push({ t: this.#tick(), layer: 'open', conn: this.#connections, protocol, role });
    return this.#connections;
  }

  bytes(conn: number, dir: Direction, text: string | Buffer): void {
    const bytes = Buffer.from(text as string);
    const key = `${conn} ${dir}`;
    const start = this.#offsets.get(key) ?? 0;
    this.#offsets.set(key, start + bytes.length);
    this.#events.push({ t: this.#tick(), layer: 'bytes', conn, dir, range: [start, start + bytes.length], bytes });
  }

  close(conn: number): void {
    this.#events.push({ t: this.#tick(), layer: 'close', conn });
  }

  gap(): void {
    this.#events.push({ t: this.#tick(), layer: 'gap', count: 1 });
  }

  get records(): WireRecord[] {
    return layered(this.#events);
  }

  /** What is found. */
  findings(): Promise<Finding[]> {
    return findingsIn(this.records);
  }

  /** What is found if one of the events is lost: for each event, in order. */
  async *findingsWithGaps(): AsyncGenerator<Finding[]> {
    for (const [lost, { t }] of this.#events.entries()) {
      const events = this.#events.map((event, at): WireEvent => (at === lost ? { t, layer: 'gap', count: 1 } : event));
      yield findingsIn(layered(events));
    }
  }

  #tick(): number {
    this.#t += 1;
    return this.#t;
  }
}

function layered(events: readonly WireEvent[]): WireRecord[] {
  const records: WireRecord[] = [];
  const layering = new Layering((record) => records.push(record), true);
  for (const event of events) layering.add(event);
  return records;
}

async function findingsIn(records: readonly WireRecord[]): Promise<Finding[]> {
  const found: Finding[] = [];
  async function* once(): AsyncGenerator<readonly WireRecord[]> {
    yield records;
  }
  for await (const finding of lint(once())) found.push(finding);
  return found;
}

/** A conversation over stdio. */
export class StdioScript extends WireScript {
  readonly #conn = this.open('stdio');
  #id = 0;

  client(message: unknown): this {
    return this.raw('c>s', `${JSON.stringify(message)}\n`);
  }

  server(message: unknown): this {
    return this.raw('s>c', `${JSON.stringify(message)}\n`);
  }

  raw(dir: Direction, text: string | Buffer): this {
    this.bytes(this.#conn, dir, text);
    return this;
  }

  /** A request of the client and its result, both with an id of their own. */
  call(method: string, params: Json | undefined, result: Json): this {
    this.#id += 1;
    const id = `call-${this.#id}`;
    return this.client(rpc(id, method, params)).server({ jsonrpc: '2.0', id, result });
  }

  handshake(revision: string, client: Json = {}, server: Json = { tools: {} }): this {
    this.client(initialize(revision, client)).server({ jsonrpc: '2.0', id: 0, result: initialized(revision, server) });
    return this.client({ jsonrpc: '2.0', method: 'notifications/initialized' });
  }

  end(): this {
    this.close(this.#conn);
    return this;
  }
}

/** What a test sends over HTTP, with the usual headers of the revision. */
export interface Posted {
  /** Undefined removes a header. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly message?: unknown;
  readonly method?: string;
  readonly path?: string;
}

/** What the server answers. */
export interface Answered {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** A JSON body. */
  readonly message?: unknown;
  /** The frames of an event stream: texts, or messages. */
  readonly frames?: readonly unknown[];
  readonly body?: string;
}

/** Exchanges of one HTTP connection. */
export class HttpScript extends WireScript {
  readonly #conn: number;
  session: string | undefined;
  revision: string | undefined;

  constructor(role: 'client' | 'server' = 'client') {
    super();
    this.#conn = this.open('http', role);
  }

  exchange(request: Posted, answer: Answered): this {
    return this.request(request).response(answer);
  }

  request({ headers = {}, message, method = 'POST', path = '/mcp' }: Posted): this {
    const body = message === undefined ? undefined : typeof message === 'string' ? message : JSON.stringify(message);
    const all = {
      Host: 'localhost:3000',
      Accept: method === 'GET' ? 'text/event-stream' : 'application/json, text/event-stream',
      ...(body !== undefined && { 'Content-Type': 'application/json', 'Content-Length': `${Buffer.byteLength(body)}` }),
      ...(this.session !== undefined && { 'Mcp-Session-Id': this.session }),
      ...(this.revision !== undefined && { 'MCP-Protocol-Version': this.revision }),
      ...headers,
    };
    this.bytes(this.#conn, 'c>s', `${head(`${method} ${path} HTTP/1.1`, all)}${body ?? ''}`);
    return this;
  }

  response({ status = 200, headers = {}, message, frames, body }: Answered): this {
    const text = body ?? (message === undefined ? (frames ?? []).map(frameText).join('') : JSON.stringify(message));
    const type = frames ? 'text/event-stream' : 'application/json';
    const all = {
      ...(text !== '' && { 'Content-Type': type }),
      'Content-Length': `${Buffer.byteLength(text)}`,
      ...headers,
    };
    this.bytes(this.#conn, 's>c', `${head(`HTTP/1.1 ${status} X`, all)}${text}`);
    return this;
  }

  /** Opens a session. */
  handshake(revision: string, client: Json = {}, server: Json = { tools: {} }, session = 'session-of-a-test'): this {
    const message = initialize(revision, client);
    const result = { jsonrpc: '2.0', id: 0, result: initialized(revision, server) };
    this.exchange({ message }, { message: result, headers: { 'Mcp-Session-Id': session } });
    this.session = session;
    if (revision >= '2025-06-18') this.revision = revision;
    return this.exchange({ message: { jsonrpc: '2.0', method: 'notifications/initialized' } }, { status: 202 });
  }

  end(): this {
    this.close(this.#conn);
    return this;
  }
}

export function rpc(id: unknown, method: string, params?: Json): Json {
  return { jsonrpc: '2.0', id, method, ...(params && { params }) };
}

export function initialize(revision: string, capabilities: Json = {}): Json {
  const clientInfo = { name: 'test', version: '1' };
  return rpc(0, 'initialize', { protocolVersion: revision, capabilities, clientInfo });
}

export function initialized(revision: string, capabilities: Json = {}): Json {
  return { protocolVersion: revision, capabilities, serverInfo: { name: 'test', version: '1' } };
}

/** The `_meta` of a request of 2026-07-28. */
export function modernMeta(capabilities: Json = {}): Json {
  return {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  };
}

function head(first: string, headers: Readonly<Record<string, string | undefined>>): string {
  const lines = Object.entries(headers).filter(([, value]) => value !== undefined);
  return [first, ...lines.map(([name, value]) => `${name}: ${value}`), '', ''].join('\r\n');
}

function frameText(frame: unknown): string {
  return typeof frame === 'string' ? frame : `event: message\ndata: ${JSON.stringify(frame)}\n\n`;
}
