import type { Readable } from 'node:stream';
import type { WireRecord } from '../../src/inspect/record.ts';
import type { RecordingHeader } from '../../src/inspect/recording-format.ts';

/** The records that a page gets, as they are: with what the upper layers found, from any record on. */
export interface RecordStream extends AsyncIterable<WireRecord> {
  readonly header: RecordingHeader;
}

export async function readRecordStream(response: Readable): Promise<RecordStream> {
  const lines = linesOf(response);
  const { value: first } = await lines.next();
  const header = JSON.parse(first!) as RecordingHeader;
  async function* read(): AsyncGenerator<WireRecord, void> {
    for await (const line of lines) {
      if (line === '{"end":true}') return;
      const { data, base64, ...record } = JSON.parse(line) as WireRecord & { data?: string; base64?: string };
      const bytes = data === undefined ? Buffer.from(base64 ?? '', 'base64') : Buffer.from(data);
      yield record.layer === 'bytes' ? { ...record, bytes } : record;
    }
  }
  const records = read();
  return { header, [Symbol.asyncIterator]: () => records };
}

// Not readline, which emits the end of the peer as an error of its own.
async function* linesOf(response: Readable): AsyncGenerator<string, void> {
  let rest = '';
  for await (const text of response.setEncoding('utf8')) {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    yield* lines.filter((line) => !line.startsWith('{"state":'));
  }
}
