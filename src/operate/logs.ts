import { bounded } from './outcome.ts';
import { scrubber, withoutQueries } from '../auth/scrub.ts';
import { printable, printableLine } from '../core/printable.ts';

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
  /**
   * Writes a message and an address that a person has to visit, with its query: on a line of its own, or as the field
   * `address` in JSON. Only for addresses that this process made.
   */
  address(severity: LogSeverity, message: string, address: URL): void;
  /** Removes the known secrets, and what follows `Bearer` and the like, from a text that is not for the log. */
  scrub(text: string): string;
  /**
   * Keeps these texts out of all lines from now on, too, each as `LogOptions.secrets` has it. Of each owner the newest ones
   * and those before them are kept out: a server may still repeat the token that was just replaced.
   *
   * @param owner whose secrets they are: the name or the address of a server, for example.
   */
  hide(owner: string, secrets: readonly string[]): void;
}

/** What a log shows, and how. */
export interface LogOptions {
  /** Lines for people (`everwire: message key=value`), or one JSON object a line, by `pino`. Default `plain`. */
  readonly format?: LogFormat | undefined;
  /** Default `info`. */
  readonly level?: LogThreshold | undefined;
  /** Takes each line, with the newline at its end. Default: writes it to stderr, for stdout may belong to the protocol. */
  readonly write?: ((line: string) => void) | undefined;
  /**
   * Texts that must appear in no line, of at least 8 characters: tokens and keys of this process. Neither do their lines, of
   * as many characters, nor any of these as it is written in JSON or in an address.
   */
  readonly secrets?: readonly string[] | undefined;
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
  const hidden = new Map<string, Hidden>();
  let scrub = scrubber(secrets);
  const clean = (text: string): string => bounded(withoutQueries(scrub(bounded(text, MAX_TEXT * 2))), MAX_TEXT);
  const sink = format === 'json' ? await jsonSink(level, write) : plainSink(level, write);
  return {
    write: (severity, message, fields = {}) => {
      const shown = Object.entries(fields).flatMap(([key, value]): [string, string | number | boolean][] =>
        value === undefined ? [] : [[key, typeof value === 'string' ? clean(value) : value]],
      );
      sink(severity, clean(message), shown);
    },
    address: (severity, message, { href }) => sink(severity, clean(message), [], href),
    scrub: (text) => scrub(text),
    hide: (owner, newest) => {
      const { newest: before } = hidden.get(owner) ?? NOTHING_HIDDEN;
      if (newest.length === before.length && newest.every((secret) => before.includes(secret))) return;
      hidden.set(owner, { newest, before });
      scrub = scrubber([...secrets, ...[...hidden.values()].flatMap((each) => each.newest.concat(each.before))]);
    },
  };
}

/** The secrets of one owner. */
interface Hidden {
  readonly newest: readonly string[];
  readonly before: readonly string[];
}

const NOTHING_HIDDEN: Hidden = { newest: [], before: [] };

type Sink = (
  severity: LogSeverity,
  message: string,
  fields: [string, string | number | boolean][],
  address?: string,
) => void;

function plainSink(level: LogThreshold, write: (line: string) => void): Sink {
  const least = LOG_LEVELS.indexOf(level);
  return (severity, message, fields, address) => {
    if (LOG_LEVELS.indexOf(severity) < least) return;
    const pairs = fields.map(
      ([key, value]) => ` ${key}=${/[\s"=]/.test(String(value)) ? JSON.stringify(value) : value}`,
    );
    write(`${printableLine(`everwire: ${message}${pairs.join('')}`)}\n`);
    if (address !== undefined) write(`${printableLine(address)}\n`);
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
    { write: (line: string) => write(printable(line)) },
  );
  return (severity, message, fields, address) => logger[severity]({ ...Object.fromEntries(fields), address }, message);
}
