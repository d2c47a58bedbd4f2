import { ifMissing } from '../base/missing-package.ts';
import { bounded } from './outcome.ts';
import { scrubber, withoutQueries } from '../auth/scrub.ts';
import { printable, printableLine } from '../base/printable.ts';
import { guarded } from '../jsonrpc/stderr-report.ts';

/** How severe a line is. */
export type LogSeverity = 'debug' | 'info' | 'warn' | 'error';
/** The least severe level that a log shows. */
export type LogThreshold = LogSeverity | 'silent';
export const LOG_LEVELS: readonly LogThreshold[] = ['debug', 'info', 'warn', 'error', 'silent'];

/** `plain` is for reading, `json` for programs. */
export type LogFormat = 'plain' | 'json';
export const LOG_FORMATS: readonly LogFormat[] = ['plain', 'json'];

/** Fields of a line in addition to its message. Undefined fields are omitted. */
export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

/** Maximum length of a message or a field, in characters. A child process may write an endless line to stderr. */
const MAX_TEXT = 16_384;
/** How much text may wait until someone reads stderr, in UTF-16 code units. Beyond this, lines are left out. */
const MAX_UNREAD = 4 * 1024 * 1024;

/** The output of a log. */
export interface Log {
  /** Writes one line. Never throws, and keeps no reference to its arguments. */
  write(severity: LogSeverity, message: string, fields?: LogFields): void;
}

/** A log that removes credentials from all lines. */
export interface CleanLog extends Log {
  /**
   * Writes a message and a URL that the user has to open, with its query. The URL is on its own line, or in the field
   * `address` in JSON. Use it only for URLs that this process created.
   */
  address(severity: LogSeverity, message: string, address: URL): void;
  /** Removes the known secrets, and `Bearer` and similar credentials, from a text that is not for the log. */
  scrub(text: string): string;
  /**
   * Also removes these secrets from all later lines, as `LogOptions.secrets` describes. For each owner the newest and
   * the previous secrets are removed, because a server may repeat a token that was just replaced.
   *
   * @param owner the owner of the secrets, for example the name or URL of a server.
   */
  hide(owner: string, secrets: readonly string[]): void;
}

/** Options of a log. */
export interface LogOptions {
  /**
   * Plain lines (`everwire: message key=value`), or one JSON object on each line, written by `pino`. Default `plain`.
   */
  readonly format?: LogFormat | undefined;
  /** Default `info`. */
  readonly level?: LogThreshold | undefined;
  /**
   * Receives each line with its newline. Default: writes to stderr, because stdout may carry the protocol. If nobody
   * reads stderr, lines are left out.
   */
  readonly write?: ((line: string) => void) | undefined;
  /**
   * Tokens and keys of this process, of at least 8 characters, that must not appear in the log. Each of their lines with at
   * least 8 characters, and their JSON and URL encodings are removed too.
   */
  readonly secrets?: readonly string[] | undefined;
}

/**
 * Creates a log. It removes credentials from everything that is written: the `secrets`, `Bearer` and similar
 * credentials, and users and queries of URLs. Texts are cut at 16,384 characters.
 *
 * @throws Error if the format is `json` and `pino` is not installed.
 */
export async function createLog(options: LogOptions = {}): Promise<CleanLog> {
  const { format = 'plain', level = 'info', secrets = [] } = options;
  const hidden = new Map<string, Hidden>();
  let scrub = scrubber(secrets);
  const clean = (text: string): string => bounded(withoutQueries(scrub(bounded(text, MAX_TEXT * 2))), MAX_TEXT);
  const sinkTo = format === 'json' ? await jsonSinks() : plainSink;
  const sink = options.write ? sinkTo(level, guarded(options.write)) : stderrSink((write) => sinkTo(level, write));
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

async function jsonSinks(): Promise<typeof plainSink> {
  const { pino } = await import('pino').catch(ifMissing('logs in JSON need', 'pino'));
  return (level, write) => {
    const logger = pino(
      {
        level,
        base: { pid: process.pid },
        timestamp: pino.stdTimeFunctions.isoTime,
        formatters: { level: (label) => ({ level: label }) },
      },
      { write: (line: string) => write(printable(line)) },
    );
    return (severity, message, fields, address) =>
      logger[severity]({ ...Object.fromEntries(fields), address }, message);
  };
}

/** Writes to stderr, as long as it is read. Clients can cause a line with each request. */
function stderrSink(sinkTo: (write: (line: string) => void) => Sink): Sink {
  const { stderr } = process;
  let leftOut = 0;
  const sink = sinkTo((line) => {
    if (stderr.writableLength > MAX_UNREAD) leftOut += 1;
    else stderr.write(line);
  });
  return (...line) => {
    if (leftOut > 0 && stderr.writableLength <= MAX_UNREAD) {
      const count = leftOut;
      leftOut = 0;
      sink('error', `${count} lines of the log were left out, because stderr was not read`, []);
    }
    sink(...line);
  };
}
