import { HttpExchanges, HttpStream } from './http-stream.ts';
import { LineReader } from './lines.ts';
import type { WireProtocol, WireStream } from '../transport/wiretap.ts';
import type { OnPart } from './record.ts';
import type { OnSecret } from './secret-lines.ts';

/** Finds the upper layers in the bytes of one stream. */
export interface StreamReader {
  /** Reads the next bytes. Keeps none of them, and never throws, whatever they contain. */
  push(chunk: Buffer): void;
  /** The next bytes are missing. */
  skip(count: number): void;
  /** There are no more bytes. Called once. */
  end(): void;
}

/** Receives what is found in a stream. */
export interface StreamSink {
  readonly onpart: OnPart;
  /** Called with the ranges of secret bytes, before `push` returns. */
  readonly onsecret: OnSecret;
}

/** For lines, if only secrets are wanted: stdio and stderr have none that are known. */
const NOTHING: StreamReader = { push: () => {}, skip: () => {}, end: () => {} };

/**
 * Creates the readers for the streams of one connection.
 *
 * @param parts false to find only the secrets.
 */
export function readersFor(
  protocol: WireProtocol,
  parts: boolean,
): (stream: WireStream, sink: StreamSink) => StreamReader {
  const exchanges = new HttpExchanges();
  return (stream, { onpart, onsecret }) => {
    if (protocol === 'http' && stream !== 'stderr') {
      const direction = stream === 'c>s' ? 'requests' : 'responses';
      return new HttpStream(direction, exchanges, parts ? onpart : undefined, onsecret);
    }
    return parts ? new LineReader(stream === 'stderr' ? 'stderr' : 'line', onpart) : NOTHING;
  };
}
