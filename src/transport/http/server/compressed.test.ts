import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { createGzip, type Gzip } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { modernHeaders, modernRequest } from '../../../../test/support/modern.ts';
import { listenOnNode } from '../../../../test/support/node-server.ts';
import type { Service } from '../../../core/exchange.ts';
import type { Request } from '../../../jsonrpc/message.ts';
import { createInbound } from '../../../wire/serve.ts';
import { createHttpHandler } from './handler.ts';
import { nodeListener } from './node.ts';

/** Compresses a response as the package `compression` does: what it gets is compressed later, in another thread. */
function compress(response: ServerResponse): Gzip {
  const gzip = createGzip();
  const { write, end, on, writeHead } = response;
  response.writeHead = ((status: number, headers: string[]) => {
    const kept: string[] = ['content-encoding', 'gzip'];
    for (let index = 0; index < headers.length; index += 2)
      if (headers[index] !== 'content-length') kept.push(headers[index]!, headers[index + 1]!);
    return writeHead.call(response, status, kept as never);
  }) as never;
  response.write = ((chunk: string | Uint8Array, encoding: BufferEncoding) => gzip.write(chunk, encoding)) as never;
  response.end = ((chunk?: string | Uint8Array, encoding?: BufferEncoding) =>
    void (chunk === undefined ? gzip.end() : gzip.end(chunk, encoding!))) as never;
  response.on = ((event: string, listener: () => void) =>
    event === 'drain' ? (gzip.on(event, listener), response) : on.call(response, event, listener)) as never;
  gzip.on('data', (chunk) => {
    if (!(write as (chunk: unknown) => boolean).call(response, chunk)) gzip.pause();
  });
  gzip.on('end', () => void (end as () => unknown).call(response));
  on.call(response, 'drain', () => void gzip.resume());
  return gzip;
}

/** A server of `node:http` that compresses its responses. */
async function compressing(textOf: (name: string) => string): Promise<{ port: number; gzips: Gzip[] }> {
  const service: Service = async ({ params }) => ({
    content: [{ type: 'text', text: textOf(String(params['name'])) }],
  });
  const handler = createHttpHandler(createInbound(service));
  const answer = nodeListener(handler);
  const gzips: Gzip[] = [];
  const server = createServer((request, response) => {
    gzips.push(compress(response));
    answer(request, response);
  });
  return { port: await listenOnNode(server, handler), gzips };
}

const call = (name: string): Request => modernRequest(1, 'tools/call', { name, arguments: {} });

test('large responses that a middleware compresses arrive whole, and without a part of another', async () => {
  const { port } = await compressing((name) => name.repeat(500_000));
  const answered = async (name: string): Promise<string> => {
    const request = call(name);
    const init = { method: 'POST', headers: modernHeaders(request), body: JSON.stringify(request) };
    return (await fetch(`http://127.0.0.1:${port}/mcp`, init)).text();
  };
  const names = ['1', '2', '3', '4'];
  const texts = await Promise.all(names.map((name) => answered(name)));
  for (const [index, text] of texts.entries()) {
    const begin = text.indexOf('"text":"') + 8;
    expect([...new Set(text.slice(begin, begin + 500_000))]).toEqual([names[index]]);
    expect(JSON.parse(text).id).toBe(1);
  }
});

test('a middleware that compresses gets no more of a response than it takes', async () => {
  const text = randomBytes(8_000_000).toString('base64');
  const { port, gzips } = await compressing(() => text);
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  const request = call('large');
  const body = JSON.stringify(request);
  const headers = { host: 'localhost', ...modernHeaders(request), 'content-length': body.length, connection: 'close' };
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`POST /mcp HTTP/1.1\r\n${head.join('')}\r\n${body}`);
  await expect.poll(() => gzips[0]?.isPaused()).toBe(true);
  expect(gzips[0]!.writableLength).toBeLessThan(1_000_000);
  let bytes = 0;
  socket.on('data', ({ length }: Buffer) => (bytes += length));
  await once(socket, 'close');
  expect(bytes).toBeGreaterThan(8_000_000);
  expect(gzips[0]!.bytesWritten).toBeGreaterThan(text.length);
});
