import type { Duplex, Readable, Writable } from 'node:stream';
import { usePlainWrite } from './plain-write.ts';

/** What carries the messages of a connection. `app`: a frame of the inspector, in which an MCP App runs. */
export type WireProtocol = 'http' | 'stdio' | 'app';

/** A stream of bytes of a connection: from client to server, from server to client, or the stderr of a child. */
export type WireStream = 'c>s' | 's>c' | 'stderr';

/** A connection whose bytes can be seen. */
export interface WireConnection {
  readonly protocol: WireProtocol;
  /** Which side of the connection this process is. */
  readonly role: 'client' | 'server';
  /** The other side: an address, or the name of a command. */
  readonly peer?: string | undefined;
  /** `authorization`: the requests of a login. Recordings leave them out, because they contain secrets. */
  readonly purpose?: 'authorization' | undefined;
}

/**
 * Sees the bytes of connections as they are on the wire: above TLS, below HTTP, and before lines are cut. Transports
 * take one as an option. Without it, nothing is observed.
 */
export interface Wiretap {
  /** Called when a connection opens. Must not throw. */
  open(connection: WireConnection): ConnectionTap;
}

/** Sees the bytes of one connection. Its methods must not throw. */
export interface ConnectionTap {
  /**
   * Called with received bytes before the transport reads them, and with sent bytes when they are handed to the
   * operating system. The bytes may change after the call.
   */
  bytes(stream: WireStream, chunk: Buffer): void;
  /** Like `bytes`, for text that is sent. Default: the text is encoded, and `bytes` is called. */
  text?(stream: WireStream, text: string, encoding: BufferEncoding): void;
  /** There are no more bytes. Called once. */
  close(): void;
}

/** The streams of a connection. */
export interface TappedStreams {
  readonly input: Readable;
  readonly output: Writable;
  /** The stderr of a child. */
  readonly stderr?: Readable | null | undefined;
}

/**
 * Observes a connection over a pair of streams, which may be one socket. Call it before anything is read. It does not
 * change when the streams flow or pause.
 *
 * @returns a function that ends the observation.
 */
export function tapStreams(wiretap: Wiretap, connection: WireConnection, streams: TappedStreams): () => void {
  const { input, output, stderr } = streams;
  const tap = wiretap.open(connection);
  const [received, sent]: WireStream[] = connection.role === 'client' ? ['s>c', 'c>s'] : ['c>s', 's>c'];
  const undo = [
    tapReads(input, (chunk, encoding) => see(tap, received!, chunk, encoding)),
    tapWrites(output, (chunk, encoding) => see(tap, sent!, chunk, encoding)),
    stderr && tapReads(stderr, (chunk, encoding) => see(tap, 'stderr', chunk, encoding)),
  ];
  let closed = false;
  return () => {
    if (closed) return;
    closed = true;
    for (const each of undo) each?.();
    tap.close();
  };
}

/** Observes a socket until it closes. */
export function tapSocket(wiretap: Wiretap, connection: WireConnection, socket: Duplex): void {
  socket.once('close', tapStreams(wiretap, connection, { input: socket, output: socket }));
}

/** @param encoding the encoding of a string. For bytes, a stream passes `buffer`. */
type OnData = (chunk: Uint8Array | string, encoding: BufferEncoding) => void;

function see(tap: ConnectionTap, stream: WireStream, chunk: Uint8Array | string, encoding: BufferEncoding): void {
  if (typeof chunk === 'string') {
    if (tap.text) tap.text(stream, chunk, encoding);
    else tap.bytes(stream, Buffer.from(chunk, encoding));
  } else
    tap.bytes(stream, Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
}

/** Observes the calls in which a stream gets its data. A second `data` listener would cost more. */
function tapReads(input: Readable, ondata: OnData): () => void {
  const push = input.push.bind(input);
  input.push = (chunk: Uint8Array | string | null, encoding) => {
    if (chunk !== null) ondata(chunk, encoding ?? 'utf8');
    return push(chunk, encoding);
  };
  return () => {
    input.push = push;
  };
}

interface Written {
  readonly chunk: Uint8Array | string;
  readonly encoding: BufferEncoding;
}

// These two methods are where Node documents that a stream does its writing.
/* oxlint-disable eslint/no-underscore-dangle */
/**
 * Observes the calls in which a stream hands its data on. Calls of `write` and `end` would also show data that is never
 * sent, and not the order on the wire.
 */
function tapWrites(output: Writable, ondata: OnData): () => void {
  usePlainWrite(output);
  const write = output._write.bind(output);
  const writeAll = output._writev?.bind(output);
  output._write = (chunk: Uint8Array | string, encoding, done) => {
    ondata(chunk, encoding);
    return write(chunk, encoding, done);
  };
  if (writeAll) {
    output._writev = (chunks: Written[], done) => {
      for (const { chunk, encoding } of chunks) ondata(chunk, encoding);
      return writeAll(chunks, done);
    };
  }
  return () => {
    output._write = write;
    if (writeAll) output._writev = writeAll;
  };
}
/* oxlint-enable eslint/no-underscore-dangle */
