import { HttpExchanges, HttpStream } from './http-stream.ts';
import type { OnSecret } from './head-reader.ts';
import { LineReader } from './lines.ts';
import type { WireProtocol, WireStream } from '../transport/wiretap.ts';
import type { OnPart } from './record.ts';

/** Finds the upper layers in the bytes of one stream. */
export interface StreamReader {
  /** Reads the next bytes. It keeps none of them, and never throws because of what they are. */
  push(chunk: Buffer): void;
  /** There are no more bytes. Called once. */
  end(): void;
}

/** Receives what is found in a stream. */
export interface StreamSink {
  readonly onpart: OnPart;
  /** Called with the parts of the bytes that are secret, before `push` returns. */
  readonly onsecret: OnSecret;
}

/** Creates the readers for the streams of one connection. */
export function readersFor(protocol: WireProtocol): (stream: WireStream, sink: StreamSink) => StreamReader {
  const exchanges = new HttpExchanges();
  return (stream, { onpart, onsecret }) => {
    if (stream === 'stderr') return new LineReader('stderr', onpart);
    if (protocol === 'stdio') return new LineReader('line', onpart);
    return new HttpStream(stream === 'c>s' ? 'requests' : 'responses', exchanges, onpart, onsecret);
  };
}
