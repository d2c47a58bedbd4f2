import { connect, type Socket } from 'node:net';

export interface HttpReply {
  readonly status: number;
  readonly head: string;
  /** The body as received, with the chunk sizes if it was chunked. */
  readonly body: string;
}

/**
 * One keep-alive connection that carries one request at a time. It must cost little compared with the server that it
 * measures, so it parses only the HTTP that it needs, and reads each byte as one character.
 */
export class HttpConnection {
  readonly #socket: Socket;
  #text = '';
  #onreply: ((reply: HttpReply) => void) | undefined;
  #onerror: ((error: Error) => void) | undefined;
  #onpart: ((text: string) => void) | undefined;

  constructor(url: URL) {
    this.#socket = connect({ port: Number(url.port), host: url.hostname, noDelay: true });
    this.#socket.setEncoding('latin1');
    this.#socket.on('data', (chunk: unknown) => this.#read(chunk as string));
    this.#socket.on('error', (error) => this.#fail(error));
    this.#socket.on('close', () => this.#fail(new Error('The server closed the connection')));
  }

  /**
   * Sends the bytes of one request. The next response belongs to it.
   *
   * @param onpart gets what has arrived of the response so far, each time there is more.
   */
  send(
    request: string,
    onreply: (reply: HttpReply) => void,
    onerror: (error: Error) => void,
    onpart?: (text: string) => void,
  ): void {
    this.#onreply = onreply;
    this.#onerror = onerror;
    this.#onpart = onpart;
    this.#socket.write(request, 'latin1');
  }

  request(request: string): Promise<HttpReply> {
    return new Promise((resolve, reject) => this.send(request, resolve, reject));
  }

  /**
   * Sends a request whose response does not end, and resolves when the response contains `first`. Later chunks go to
   * `ontext`. Each text must be short enough to arrive in one chunk.
   */
  async openStream(request: string, first = '', ontext: (text: string) => void = () => {}): Promise<HttpReply> {
    return new Promise((resolve, reject) => {
      this.#onerror = reject;
      let head = '';
      const begin = (chunk: unknown): void => {
        head += chunk as string;
        if (!head.includes('\r\n\r\n') || !head.includes(first)) return;
        this.#socket.off('data', begin);
        this.#socket.on('data', (text: unknown) => ontext(text as string));
        resolve({ status: statusOf(head), head, body: '' });
      };
      this.#socket.removeAllListeners('data');
      this.#socket.on('data', begin);
      this.#socket.write(request, 'latin1');
    });
  }

  close(): void {
    this.#onreply = this.#onerror = undefined;
    this.#socket.destroy();
  }

  #read(chunk: string): void {
    const text = (this.#text += chunk);
    this.#onpart?.(text);
    const headEnd = text.indexOf('\r\n\r\n');
    if (headEnd < 0) return;
    const head = text.slice(0, headEnd);
    const start = headEnd + 4;
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    const complete =
      length === undefined ? text.endsWith('\r\n0\r\n\r\n') : text.length >= start + Number.parseInt(length, 10);
    if (!complete) return;
    this.#text = '';
    const onreply = this.#onreply;
    this.#onreply = this.#onerror = undefined;
    onreply?.({ status: statusOf(head), head, body: text.slice(start) });
  }

  #fail(error: Error): void {
    const onerror = this.#onerror;
    this.#onreply = this.#onerror = undefined;
    onerror?.(error);
  }
}

function statusOf(head: string): number {
  return Number.parseInt(head.slice(9, 12), 10);
}
