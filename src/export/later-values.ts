import { isObject } from '../jsonrpc/message.ts';
import { messagesIn, type RecordedExchange } from './recorded-wire.ts';

/** The members of results that clients send back as parameters. A server makes new ones each time. */
const SENT_BACK = [
  ['requestState', 'requestState'],
  ['taskId', 'taskId'],
  ['nextCursor', 'cursor'],
] as const;

/** A value in a response that a later request repeats. */
export interface LaterValue {
  /** The record of the request whose response has it. */
  readonly n: number;
  /** The variable of the shell for it. It is unlike those of the environment, which begin with `MCP_`. */
  readonly variable: string;
  /** The header, or the member of JSON. */
  readonly member: string;
  readonly header: boolean;
  /** The parameter that repeats it. */
  readonly param: string;
}

/** Finds which values of requests come from earlier responses. */
export class LaterValues {
  readonly #used = new Map<string, LaterValue>();
  readonly #inBody = new Map<RecordedExchange, LaterValue[]>();
  readonly #old = new Map<RecordedExchange, string[]>();
  readonly #sessions = new Map<RecordedExchange, LaterValue>();

  constructor(exchanges: readonly RecordedExchange[]) {
    /** The newest response with each value. */
    const seen = new Map<string, LaterValue>();
    for (const exchange of exchanges) {
      const session = exchange.request.header('mcp-session-id');
      const opened = session === undefined ? undefined : seen.get(`session ${session}`);
      if (opened) this.#sessions.set(exchange, this.#use(opened));
      this.#look(exchange, seen);
      const { n, response } = exchange;
      const id = response?.header('mcp-session-id');
      if (id !== undefined && id !== session)
        seen.set(`session ${id}`, {
          ...{ n, variable: `session_${n}`, member: 'mcp-session-id', header: true, param: '' },
        });
      for (const { result } of messagesIn(exchange.responseBody))
        for (const [member, param] of SENT_BACK) {
          if (!isObject(result)) continue;
          // 2025-11-25 puts a task into a member.
          const value: unknown = result[member] ?? (isObject(result['task']) ? result['task'][member] : undefined);
          if (typeof value !== 'string') continue;
          seen.set(`${param} ${value}`, { n, variable: `${param}_${n}`, member, header: false, param });
        }
    }
  }

  /** Those that are used. */
  get all(): readonly LaterValue[] {
    return [...this.#used.values()];
  }

  /** Those that are used, in the response to the request of a record. */
  from(n: number): readonly LaterValue[] {
    return this.all.filter((each) => each.n === n);
  }

  /** The session of a request, if a response opened it. */
  session(exchange: RecordedExchange): LaterValue | undefined {
    return this.#sessions.get(exchange);
  }

  /** Those that are repeated in the body of a request. */
  inBody(exchange: RecordedExchange): readonly LaterValue[] {
    return this.#inBody.get(exchange) ?? [];
  }

  /** The parameters of a request that no response of the recording has. */
  oldIn(exchange: RecordedExchange): readonly string[] {
    return this.#old.get(exchange) ?? [];
  }

  #look(exchange: RecordedExchange, seen: ReadonlyMap<string, LaterValue>): void {
    const messages = messagesIn(exchange.body);
    for (const [, param] of SENT_BACK) {
      const values = messages.map(({ params }) => (isObject(params) ? params[param] : undefined));
      const value = values.find((each) => typeof each === 'string');
      if (value === undefined) continue;
      const found = seen.get(`${param} ${value}`);
      // In a batch, each message would need its own.
      if (found && !exchange.body.trimStart().startsWith('[')) {
        this.#inBody.set(exchange, [...this.inBody(exchange), this.#use(found)]);
      } else this.#old.set(exchange, [...this.oldIn(exchange), param]);
    }
  }

  #use(value: LaterValue): LaterValue {
    this.#used.set(value.variable, value);
    return value;
  }
}
