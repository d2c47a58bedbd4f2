import type { Middleware } from '../core/exchange.ts';
import { isObject } from '../jsonrpc/message.ts';
import { ErrorCode } from '../jsonrpc/errors.ts';
import { isNotificationMethod } from '../protocol/methods.ts';
import { bounded, nameIn, observed, type Outcome } from './outcome.ts';
import { printable } from './printable.ts';
import { scrubber } from './scrub.ts';

/** How severe a line is. */
export type LogSeverity = 'debug' | 'info' | 'warn' | 'error';
/** What a log shows: this and all that is more severe. */
export type LogThreshold = LogSeverity | 'silent';
export const LOG_LEVELS: readonly LogThreshold[] = ['debug', 'info', 'warn', 'error', 'silent'];

/** For people, or for machines. */
export type LogFormat = 'plain' | 'json';
export const LOG_FORMATS: readonly LogFormat[] = ['plain', 'json'];

/** What a line says beside its message. Undefined is left out. */
export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

/** Characters of a message or a field; a server that is started by a command may write lines without end to its stderr. */
const MAX_TEXT = 16_384;

/** Where lines go. */
export interface Log {
  /** Writes one line. Never throws, and keeps nothing of what it is given. */
  write(severity: LogSeverity, message: string, fields?: LogFields): void;
}

/** A log that takes credentials out of whatever is written to it. */
export interface CleanLog extends Log {
  /** Keeps these texts out of all lines from now on, too; of at least 8 characters. */
  hide(secrets: readonly string[]): void;
}

/** What a log shows, and how. */
export interface LogOptions {
  /** Lines for people (`everwire: message key=value`), or one JSON object a line, by `pino`. Default `plain`. */
  readonly format?: LogFormat;
  /** Default `info`. */
  readonly level?: LogThreshold;
  /** Takes each line, with the newline at its end. Default: writes it to stderr, for stdout may belong to the protocol. */
  readonly write?: (line: string) => void;
  /** Texts that must appear in no line, of at least 8 characters: tokens and keys of this process. */
  readonly secrets?: readonly string[];
}

/**
 * Makes a log. Whatever is written to it, credentials are taken out: the `secrets`, what follows `Bearer`, users and
 * queries of URLs. A text is cut at 16,384 characters.
 *
 * @throws Error where the format is `json` and `pino` is not installed.
 */
export async function createLog(options: LogOptions = {}): Promise<CleanLog> {
  const { format = 'plain', level = 'info', secrets = [] } = options;
  const { write = (line: string) => void process.stderr.write(line) } = options;
  let hidden = secrets;
  let scrub = scrubber(hidden);
  const clean = (text: string): string => bounded(scrub(bounded(text, MAX_TEXT * 2)), MAX_TEXT);
  const sink = format === 'json' ? await jsonSink(level, write) : plainSink(level, write);
  return {
    write: (severity, message, fields = {}) => {
      const shown = Object.entries(fields).flatMap(([key, value]): [string, string | number | boolean][] =>
        value === undefined ? [] : [[key, typeof value === 'string' ? clean(value) : value]],
      );
      sink(severity, clean(message), shown);
    },
    hide: (more) => {
      hidden = [...new Set([...hidden, ...more])];
      scrub = scrubber(hidden);
    },
  };
}

type Sink = (severity: LogSeverity, message: string, fields: [string, string | number | boolean][]) => void;

function plainSink(level: LogThreshold, write: (line: string) => void): Sink {
  const least = LOG_LEVELS.indexOf(level);
  return (severity, message, fields) => {
    if (LOG_LEVELS.indexOf(severity) < least) return;
    const pairs = fields.map(
      ([key, value]) => ` ${key}=${/[\s"=]/.test(String(value)) ? JSON.stringify(value) : value}`,
    );
    write(`${printable(`everwire: ${message}${pairs.join('')}`)}\n`);
  };
}

async function jsonSink(level: LogThreshold, write: (line: string) => void): Promise<Sink> {
  const { pino } = await import('pino').catch((cause: unknown) => {
    throw new Error('logs in JSON need the package pino: npm install pino', { cause });
  });
  const logger = pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write },
  );
  return (severity, message, fields) => logger[severity](Object.fromEntries(fields), message);
}

/** A number for each request of this process, with something before it by which processes are told apart. */
const PROCESS = Math.random().toString(36).slice(2, 8);
let lastRequest = 0;

/**
 * Writes a line for each request to a server when it has ended: an id of its own, the server, the method, the tool or
 * prompt, how it ended and after how long, the revision, the session, the principal and the trace. No arguments, no
 * results, no headers and no messages of errors. An internal error (−32603) is a warning; all else is `info`, and
 * notifications of the client are `debug`.
 *
 * @param server the name under which the lines tell of it.
 */
export function logCalls(log: Log, server: string): Middleware {
  return (next) => (exchange) => {
    lastRequest += 1;
    const request = `${PROCESS}-${lastRequest.toString(36)}`;
    const { method, params, caller } = exchange;
    return observed(next, exchange, ({ outcome, code, seconds }) =>
      log.write(severityOf(method, outcome, code), 'request', {
        request,
        server,
        method: bounded(method, 64),
        name: nameIn(exchange),
        outcome,
        code,
        ms: Math.round(seconds * 1e5) / 100,
        revision: caller.revision,
        session: caller.session?.id,
        principal: caller.principal,
        trace: traceOf(params['_meta']),
      }),
    );
  };
}

function severityOf(method: string, outcome: Outcome, code: number | undefined): LogSeverity {
  if (isNotificationMethod(method)) return 'debug';
  return outcome === 'error' && code === ErrorCode.InternalError ? 'warn' : 'info';
}

/** The id of the trace that a request belongs to (W3C Trace Context, section 3.2). */
function traceOf(meta: unknown): string | undefined {
  const parent: unknown = isObject(meta) ? meta['traceparent'] : undefined;
  return typeof parent === 'string' ? /^[\da-f]{2}-([\da-f]{32})-[\da-f]{16}-[\da-f]{2}/.exec(parent)?.[1] : undefined;
}
