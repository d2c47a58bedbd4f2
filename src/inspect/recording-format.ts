import { isUtf8 } from 'node:buffer';
import { isRequestId } from '../jsonrpc/message.ts';
import type { WireStream } from '../transport/wiretap.ts';
import type { BytesRecord, MessageKind, PartLayer, WireRecord } from './record.ts';
import { SECRETS } from './secrets.ts';

/** The first line of a recording. */
export interface RecordingHeader {
  /** The version of the format. */
  readonly mcpcap: 1;
  /** When the capture began, as ISO 8601. The times of records count from here. */
  readonly started: string;
  /** What was recorded, for people. */
  readonly target?: string;
  /** The program that made it. */
  readonly by?: string;
  /** The kinds of secrets that are masked. Empty if the recording has the bytes as they were. */
  readonly masked: readonly string[];
}

/** The most bytes of a line. A record has at most 64 KiB, and JSON may need six bytes for one. */
export const MAX_LINE = 1024 * 1024;

const ASTERISK = 0x2a;

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

/** One line for a record. @param mask whether secrets are replaced by asterisks. */
export function recordLine(record: WireRecord, mask: boolean): string {
  if (record.layer !== 'bytes') return `${JSON.stringify(record)}\n`;
  const { bytes, ...others } = record;
  const shown = mask ? masked(record) : bytes;
  const data = isUtf8(shown) ? { data: shown.toString() } : { base64: shown.toString('base64') };
  return `${JSON.stringify({ ...others, ...data })}\n`;
}

/** Each byte of a secret becomes an asterisk, so all ranges stay right. */
function masked({ bytes, range: [offset], secret }: BytesRecord): Buffer {
  if (!secret) return bytes;
  const copy = Buffer.from(bytes);
  for (let i = 0; i < secret.length; i += 2) copy.fill(ASTERISK, secret[i]! - offset, secret[i + 1]! - offset);
  return copy;
}

/** @throws Error that says what is wrong. */
export function parseHeader(line: string): RecordingHeader {
  const { mcpcap, started, target, by, masked: kinds } = fieldsOf(line);
  if (mcpcap === undefined) throw new Error('this is not a recording: its first line has no "mcpcap"');
  if (mcpcap !== 1) throw new Error(`this version reads mcpcap 1, and not ${JSON.stringify(mcpcap)}`);
  if (typeof started !== 'string' || Number.isNaN(Date.parse(started))) throw new Error('"started" must be a time');
  if (!Array.isArray(kinds) || !kinds.every((kind) => typeof kind === 'string'))
    throw new Error('"masked" must be a list of strings');
  return { mcpcap, started, masked: kinds, ...text({ target, by }) };
}

/**
 * The record of a line. Undefined for a layer that this version does not know.
 *
 * @param after the number of the record before.
 * @throws Error that says what is wrong.
 */
export function parseRecord(line: string, after: number): WireRecord | undefined {
  const fields = fieldsOf(line);
  const { n, t, layer, conn, dir, range } = fields;
  if (!isCount(n) || n <= after) throw new Error(`"n" must be a whole number above ${after}`);
  if (!isCount(t)) throw new Error('"t" must be a number of microseconds');
  if (layer === 'gap') {
    const { from } = fields;
    if (!isCount(from) || from > n || from <= after) throw new Error('"from" must be the first missing number');
    return { n, t, layer, from };
  }
  if (typeof layer !== 'string') throw new Error('"layer" must be a string');
  if (!LAYERS.has(layer)) return undefined;
  if (!isCount(conn)) throw new Error('"conn" must be the number of a connection');
  if (layer === 'close') return { n, t, layer, conn };
  if (layer === 'open') {
    const { protocol, role, peer } = fields;
    if (protocol !== 'http' && protocol !== 'stdio') throw new Error('"protocol" must be http or stdio');
    if (role !== 'client' && role !== 'server') throw new Error('"role" must be client or server');
    return { n, t, layer, conn, protocol, role, ...text({ peer }) };
  }
  if (!isStream(dir)) throw new Error('"dir" must be c>s, s>c or stderr');
  if (!isRange(range)) throw new Error('"range" must be pairs of offsets, in order');
  const place = { n, t, conn, dir, range };
  if (layer === 'bytes') return bytesRecord(fields, { ...place, layer, range: range as [number, number] });
  const { exchange, note, kind, id, method } = fields;
  return {
    ...place,
    layer: layer as PartLayer,
    ...(isCount(exchange) && { exchange }),
    ...(KINDS.has(kind as string) && { kind: kind as MessageKind }),
    ...(isRequestId(id) && { id }),
    ...text({ note, method }),
  };
}

function bytesRecord(
  { data, base64, secret }: Record<string, unknown>,
  place: Omit<BytesRecord, 'bytes'>,
): BytesRecord {
  if ((typeof data === 'string') === (typeof base64 === 'string'))
    throw new Error('bytes must have "data" or "base64"');
  const bytes = typeof data === 'string' ? Buffer.from(data) : Buffer.from(base64 as string, 'base64');
  const [start, end] = place.range;
  if (place.range.length !== 2 || bytes.length !== end - start)
    throw new Error(`"range" must be as long as the bytes, which are ${bytes.length}`);
  return { ...place, bytes, ...(isRange(secret) && { secret }) };
}

const PARTS: readonly PartLayer[] = ['head', 'chunk', 'body', 'frame', 'line', 'stderr', 'message'];
const LAYERS: ReadonlySet<string> = new Set(['open', 'close', 'bytes', ...PARTS]);
const KINDS: ReadonlySet<string> = new Set<MessageKind>(['request', 'notification', 'result', 'error', 'batch']);

function fieldsOf(line: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new Error('this is not JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('this is not a JSON object');
  return value as Record<string, unknown>;
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

/** Those fields that are texts. */
function text<T extends string>(fields: Record<T, unknown>): { [name in T]?: string } {
  const texts = Object.entries(fields).filter(([, value]) => typeof value === 'string');
  return Object.fromEntries(texts) as { [name in T]?: string };
}
