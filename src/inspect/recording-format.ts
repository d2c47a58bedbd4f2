import { jsonIn } from '../jsonrpc/json-in.ts';
import { isObject } from '../jsonrpc/message.ts';
import type { WireStream } from '../transport/wiretap.ts';
import type { BytesRecord, WireEvent } from './record.ts';
import { SECRETS } from './secrets.ts';

/** The first line of a recording. */
export interface RecordingHeader {
  /** The version of the format. */
  readonly mcpcap: 1;
  /** When the capture began, as ISO 8601. The times of records count from here. */
  readonly started: string;
  /** What was recorded, to show to users. */
  readonly target?: string;
  /** The program that wrote it. */
  readonly by?: string;
  /** The kinds of secrets that are masked. Empty if the recording has the bytes as they were. */
  readonly masked: readonly string[];
}

/** The most bytes of a record. Each of them may be a part of its own. */
const MAX_BYTES = 64 * 1024;
/** The most bytes of a line: JSON may need six bytes for each byte of a record. */
export const MAX_LINE = 1024 * 1024;

export function headerLine(header: { started: Date; target?: string | undefined; by: string; mask: boolean }): string {
  const { started, target, by, mask } = header;
  const written: RecordingHeader = {
    mcpcap: 1,
    started: started.toISOString(),
    ...(target !== undefined && { target }),
    by,
    masked: mask ? SECRETS : [],
  };
  return `${JSON.stringify(written)}\n`;
}

/** @throws Error that says what is wrong. */
export function parseHeader(line: string): RecordingHeader {
  const { mcpcap, started, target, by, masked: kinds } = fieldsOf(line);
  if (mcpcap === undefined) throw new Error('this is not a recording: its first line has no "mcpcap"');
  if (typeof mcpcap !== 'number') throw new Error('"mcpcap" must be a number');
  if (mcpcap !== 1) throw new Error(`this version reads mcpcap 1, and not ${mcpcap}`);
  if (typeof started !== 'string' || Number.isNaN(Date.parse(started))) throw new Error('"started" must be a time');
  if (!Array.isArray(kinds) || !kinds.every((kind) => typeof kind === 'string'))
    throw new Error('"masked" must be a list of strings');
  return { mcpcap, started, masked: kinds, ...text({ target, by }) };
}

/**
 * The number and the event of a line. The event is undefined for an upper or unknown layer.
 *
 * @param after the number of the previous record.
 * @throws Error that says what is wrong.
 */
export function parseRecord(line: string, after: number): { readonly n: number; readonly event?: WireEvent } {
  const fields = fieldsOf(line);
  const { n, t, layer, conn, dir, range } = fields;
  if (!isCount(n) || n <= after) throw new Error(`"n" must be a whole number above ${after}`);
  if (!isCount(t)) throw new Error('"t" must be a number of microseconds');
  if (layer === 'gap') {
    const { from } = fields;
    if (!isCount(from) || from > n || from <= after) throw new Error('"from" must be the first missing number');
    return { n, event: { t, layer, count: n - from + 1 } };
  }
  if (typeof layer !== 'string') throw new Error('"layer" must be a string');
  if (layer !== 'open' && layer !== 'close' && layer !== 'bytes') return { n };
  if (!isCount(conn)) throw new Error('"conn" must be the number of a connection');
  if (layer === 'close') return { n, event: { t, layer, conn } };
  if (layer === 'open') {
    const { protocol, role, peer } = fields;
    if (protocol !== 'http' && protocol !== 'stdio' && protocol !== 'app')
      throw new Error('"protocol" must be http, stdio or app');
    if (role !== 'client' && role !== 'server') throw new Error('"role" must be client or server');
    return { n, event: { t, layer, conn, protocol, role, ...text({ peer }) } };
  }
  if (!isStream(dir)) throw new Error('"dir" must be c>s, s>c or stderr');
  if (!isRange(range)) throw new Error('"range" must be pairs of offsets, in order');
  return { n, event: { t, conn, dir, layer, range: range as [number, number], ...bytesOf(fields, range) } };
}

function bytesOf(
  { data, base64, secret }: Record<string, unknown>,
  range: readonly number[],
): Pick<BytesRecord, 'bytes' | 'secret'> {
  if ((typeof data === 'string') === (typeof base64 === 'string'))
    throw new Error('bytes must have "data" or "base64"');
  const bytes = typeof data === 'string' ? Buffer.from(data) : Buffer.from(base64 as string, 'base64');
  if (range.length !== 2 || bytes.length !== range[1]! - range[0]!)
    throw new Error(`"range" must be as long as the bytes, which are ${bytes.length}`);
  if (bytes.length > MAX_BYTES) throw new Error(`a record must not have more than ${MAX_BYTES} bytes`);
  return { bytes, ...(isRange(secret) && { secret }) };
}

function fieldsOf(line: string): Record<string, unknown> {
  const value = jsonIn(line);
  if (value === undefined) throw new Error('this is not JSON');
  if (!isObject(value)) throw new Error('this is not a JSON object');
  return value;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isStream(value: unknown): value is WireStream {
  return value === 'c>s' || value === 's>c' || value === 'stderr';
}

function isRange(value: unknown): value is number[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.length % 2 === 0 &&
    value.every((offset, i) => isCount(offset) && offset >= (value[i - 1] ?? 0))
  );
}

/** The fields that are strings. */
function text<T extends string>(fields: Record<T, unknown>): { [name in T]?: string } {
  const texts = Object.entries(fields).filter(([, value]) => typeof value === 'string');
  return Object.fromEntries(texts) as { [name in T]?: string };
}
