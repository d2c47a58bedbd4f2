import { Oldest } from '../base/oldest.ts';
import { ShareCounts } from '../base/share.ts';
import { sizeOf } from '../inspect/range-size.ts';
import type { OpenRecord, PartRecord, WireRecord } from '../inspect/record.ts';
import { FilterError, KEY, parseFilter, type Predicate } from '../inspect/filter/parse.ts';
import { recordSubject } from '../inspect/filter/subject.ts';
import { tokensOf } from '../inspect/filter/tokens.ts';
import { Spans, type Span } from '../inspect/spans/spans.ts';
import { StreamBytes } from '../lint/model/stream-bytes.ts';
import { Failure } from './failure.ts';
import type { InspectFlags } from './inspect-options.ts';
import { openRecording, recordsOf } from './open-recording.ts';
import { Output } from './output.ts';
import { printStatus } from './print-status.ts';
import { bytes, cut } from './screen.ts';
import type { SplitWords } from './take-target.ts';

/** Bytes that are kept until a message in them is complete. */
const MAX_BYTES = 64 * 1024 * 1024;
/** The most connections whose roles are remembered. */
const MAX_CONNECTIONS = 10_000;
/** Keys of filters that fit no message, or that only the page can judge. */
const NOT_OF_MESSAGES: ReadonlySet<string> = new Set(['layer', 'header', 'lint', 'rule']);

/** `everwire inspect <recording> --print`: prints the messages of a recording, one on each line. */
export async function inspectPrint({ words, command }: SplitWords, flags: InspectFlags): Promise<void> {
  const [file, ...others] = words;
  if (command !== undefined || !file?.endsWith('.mcpcap')) throw Failure.usage('--print needs a recording (.mcpcap)');
  if (others.length > 0) throw Failure.usage(`inspect takes only a target, and not ${JSON.stringify(others[0])}`);
  const unused = (['through', 'record', 'port'] as const).find((name) => flags[name] !== undefined);
  if (unused !== undefined) throw Failure.usage(`--${unused} cannot be used with --print`);
  const shows = predicateOf(flags.filter ?? '');
  const recording = await openRecording(file);
  const output = new Output({});
  const { isTTY, columns } = process.stdout;
  // A terminal without a size says 0.
  const width = (isTTY && columns) || Infinity;
  const messages = new Messages();
  let hasGaps = false;
  for await (const record of recordsOf(recording, file)) {
    hasGaps ||= record.layer === 'gap';
    for (const { line, subjects } of messages.add(record)) {
      if (subjects.some((subject) => shows(subject))) await output.line(cut(line, width));
    }
  }
  if (recording.truncated) printStatus('the recording ends with an incomplete line');
  if (hasGaps) printStatus('records are missing in the recording, so messages may be missing here');
}

/** @throws Failure with code 2 if the filter is wrong. */
function predicateOf(filter: string): Predicate {
  try {
    const predicate = parseFilter(filter);
    for (const { type, start, end } of tokensOf(filter)) {
      const key = type === 'word' ? KEY.exec(filter.slice(start, end))?.[1]?.toLowerCase() : undefined;
      if (key !== undefined && NOT_OF_MESSAGES.has(key))
        throw Failure.usage(`--filter: "${key}" is only for the page, because --print shows messages`);
    }
    return predicate;
  } catch (error) {
    if (error instanceof FilterError) throw Failure.usage(`--filter: ${error.message}`);
    throw error;
  }
}

type Subject = Parameters<Predicate>[0];

/** The messages of a recording, from its records in their order. */
class Messages {
  readonly #bytes = new StreamBytes(MAX_BYTES);
  readonly #spans = new Spans();
  readonly #roles = new Map<number, string>();
  readonly #oldest = new Oldest(this.#roles);
  /** How many connections have each role. */
  readonly #counts = new ShareCounts();

  *add(record: WireRecord): Iterable<{ line: string; subjects: readonly Subject[] }> {
    if (record.layer === 'gap') {
      this.#bytes.dropAll();
      return;
    }
    const { conn } = record;
    if (record.layer === 'open') this.#open(record);
    else if (record.layer === 'bytes') this.#bytes.add(streamOf(record), record.range[0], record.bytes);
    const text = 'dir' in record && record.layer !== 'bytes' ? this.#textOf(record) : () => undefined;
    const spans = this.#spans.add(record, text);
    if (record.layer === 'message') {
      const found = spans.length === 0 ? [undefined] : spans;
      const more = { side: this.#sideOf(conn), tested: new Map<object, boolean>() };
      yield { line: lineOf(record, spans), subjects: found.map((span) => recordSubject(record, span, text, more)) };
    }
    if (record.layer === 'close') for (const dir of ['c>s', 's>c', 'stderr']) this.#bytes.drop(`${conn} ${dir}`);
    else if ('dir' in record && record.layer !== 'bytes') this.#forget(record);
  }

  /** A message is never before a part that has ended, but it may be in that part, and follow it. */
  #forget(record: PartRecord): void {
    const { layer, range } = record;
    const isRead = layer === 'head' || layer === 'message';
    this.#bytes.forget(streamOf(record), isRead ? range.at(-1)! : range[0]!);
  }

  #open({ conn, protocol, role }: OpenRecord): void {
    this.#forgetRole(conn);
    const kind = protocol === 'app' ? protocol : role;
    this.#roles.set(conn, kind);
    this.#counts.add(kind);
    if (this.#roles.size > MAX_CONNECTIONS) this.#forgetRole(this.#oldest.take()!);
  }

  #forgetRole(conn: number): void {
    const role = this.#roles.get(conn);
    if (role === undefined) return;
    this.#roles.delete(conn);
    this.#counts.remove(role);
  }

  #textOf(record: PartRecord): () => string | undefined {
    let made: { readonly text: string | undefined } | undefined;
    return () => {
      if (made) return made.text;
      const whole = this.#bytes.read(streamOf(record), record.range);
      made = { text: whole && Buffer.from(whole).toString() };
      return made.text;
    };
  }

  /** `app` for the frame of an app. In a bridge, the peer of a connection. */
  #sideOf(conn: number): string | undefined {
    const role = this.#roles.get(conn);
    if (role === 'app') return role;
    if (this.#counts.of('client') === 0 || this.#counts.of('server') === 0) return undefined;
    return role === undefined ? undefined : role === 'client' ? 'server' : 'client';
  }
}

function streamOf({ conn, dir }: { readonly conn: number; readonly dir: string }): string {
  return `${conn} ${dir}`;
}

/** `   0.012  1 c>s  request       98 bytes  tools/call add #3`. An answer has the method of its request. */
function lineOf({ t, conn, dir, kind, id, method, range }: PartRecord, spans: readonly Span[]): string {
  const [span] = spans;
  const isAnswer = kind === 'result' || kind === 'error';
  const called = span && (isAnswer || method === span.method) ? span : undefined;
  const what = [method ?? called?.method, called?.tool, id === undefined ? undefined : `#${id}`];
  return [
    (t / 1_000_000).toFixed(3).padStart(8),
    `${String(conn).padStart(2)} ${dir}`,
    (kind ?? '').padEnd(12),
    bytes(sizeOf(range)).padStart(9),
    what.filter((part) => part !== undefined).join(' '),
  ].join('  ');
}
