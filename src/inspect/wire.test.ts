import { once } from 'node:events';
import { readFile, rm, mkdtemp } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { canCertify, certificate } from '../../test/support/certificate.ts';
import { bytesOf, partsOf, recordsOf, sha256 } from '../../test/support/captured.ts';
import { notification, request } from '../jsonrpc/message.ts';
import { McpServer } from '../server/mcp-server.ts';
import { pooledHttp } from '../transport/http/client/pooled-http.ts';
import { childTransport } from '../transport/stdio/child.ts';
import { stdioServerTransport } from '../transport/stdio/server.ts';
import { tapSocket } from '../transport/wiretap.ts';
import { Capture } from './capture.ts';

const INITIALIZE = JSON.stringify({
  jsonrpc: '2.0',
  id: 'grüße €',
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'räw', version: '1' } },
});
const LIST = '{"jsonrpc":"2.0","id":2,"method":"tools/list"}';

/** A text in pieces that cut characters and line ends. */
function inPieces(bytes: Buffer): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0, size = 1; at < bytes.length; at += size, size = (size % 7) + 1)
    pieces.push(bytes.subarray(at, at + size));
  return pieces;
}

/** Writes each piece on its own, so that it arrives on its own as far as the network lets it. */
async function send(socket: Socket, bytes: Buffer): Promise<void> {
  socket.setNoDelay(true);
  for (const piece of inPieces(bytes)) {
    socket.write(piece);
    await turn();
  }
}

describe('a tapped HTTP server', () => {
  test.each(canCertify ? ['http', 'https'] : ['http'])(
    'records what a raw client sends and gets over %s',
    async (scheme) => {
      const capture = new Capture();
      const server = new McpServer({ name: 'tapped', version: '1' });
      const tls = scheme === 'https' ? certificate('tapped') : undefined;
      const listener = await server.listen({ port: 0, wiretap: capture, tls });
      onTestFinished(() => listener.close(0));
      const to = { host: '127.0.0.1', port: listener.port };
      const socket = tls ? connectTls({ ...to, ca: tls.cert }) : connect(to);
      const received = text(socket.setEncoding('latin1'));
      await once(socket, tls ? 'secureConnect' : 'connect');
      const half = Buffer.from(INITIALIZE).subarray(0, 53);
      const rest = Buffer.from(INITIALIZE).subarray(53);
      const sent = Buffer.concat([
        Buffer.from('\r\nPOST /mcp HTTP/1.1\r\nhOsT: localhost\r\nACCEPT:application/json,text/event-stream\r\n'),
        Buffer.from(
          'X-Odd:   spaces  \r\nx-odd: Twice\r\ncontent-TYPE: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
        ),
        Buffer.from(`${half.length.toString(16).toUpperCase()};name="a b"\r\n`),
        half,
        Buffer.from(`\r\n${rest.length.toString(16)}\r\n`),
        rest,
        Buffer.from(
          '\r\n0\r\nX-Trailer: yes\r\n\r\nGET /none?api_key=hidden HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
        ),
      ]);
      await send(socket, sent);
      const answer = Buffer.from(await received, 'latin1');
      const records = await recordsOf(capture);
      expect(sha256(bytesOf(records, 'c>s'))).toBe(sha256(sent));
      expect(sha256(bytesOf(records, 's>c'))).toBe(sha256(answer));
      expect(records[0]).toMatchObject({
        layer: 'open',
        role: 'server',
        peer: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
      });
      expect(records.at(-1)!.layer).toBe('close');
      expect(partsOf(records, 'c>s').map(({ layer, exchange }) => `${layer} ${exchange}`)).toEqual([
        'head 1',
        'chunk 1',
        'chunk 1',
        'chunk 1',
        'message 1',
        'body 1',
        'head 2',
      ]);
      expect(partsOf(records, 'c>s').find(({ layer }) => layer === 'message')).toMatchObject({
        text: INITIALIZE,
        method: 'initialize',
        id: 'grüße €',
      });
      const [head] = partsOf(records, 's>c');
      expect(head!.text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
      expect(partsOf(records, 's>c').find(({ layer }) => layer === 'message')).toMatchObject({
        kind: 'result',
        id: 'grüße €',
      });
      // The request was seen before the server answered it.
      const order = records.flatMap((record) => (record.layer === 'message' ? [record.kind] : []));
      expect(order.slice(0, 2)).toEqual(['request', 'result']);
    },
  );

  test('records what an invalid request gets', async () => {
    const capture = new Capture();
    const listener = await new McpServer({ name: 'tapped', version: '1' }).listen({ port: 0, wiretap: capture });
    onTestFinished(() => listener.close(0));
    const socket = connect(listener.port, '127.0.0.1');
    socket.write('NONSENSE\r\n\r\n');
    const answer = await text(socket);
    const records = await recordsOf(capture);
    expect(bytesOf(records, 's>c').toString()).toBe(answer);
    expect(partsOf(records, 'c>s')).toMatchObject([{ layer: 'head', note: 'not HTTP/1.1' }]);
  });
});

/** A server that answers with these bytes when it has received as many as given. */
async function rawServer(answer: Buffer) {
  const received: Buffer[] = [];
  const server = createServer((socket) => {
    socket.on('data', (chunk: Buffer) => received.push(chunk));
    socket.once('data', () => void send(socket, answer).then(() => socket.end()));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, received };
}

/** Sends a request on a tapped connection, and reads the response to its end. */
const clients: [string, (port: number, wiretap: Capture) => Promise<string>][] = [
  [
    'the client',
    async (port, wiretap) => {
      const http = pooledHttp({ wiretap });
      const reply = await http({
        url: new URL(`http://127.0.0.1:${port}/mcp?access_token=x`),
        method: 'POST',
        headers: { 'x-odd': 'kept' },
        body: LIST,
      });
      const received = await reply.text(10_000);
      http.close!();
      return received;
    },
  ],
  [
    'node:http',
    async (port, wiretap) => {
      const sent = httpRequest({
        port,
        method: 'POST',
        headers: { 'X-Odd': 'kept' },
        createConnection: (_options, oncreate) => {
          const socket = connect(port, '127.0.0.1', () => oncreate(null, socket));
          tapSocket(wiretap, { protocol: 'http', role: 'client', peer: `127.0.0.1:${port}` }, socket);
          return undefined;
        },
      });
      sent.end(LIST);
      const [response] = await once(sent, 'response');
      return text(response);
    },
  ],
];

test.each(clients)(
  'a wiretap below %s sees the bytes of an event stream, with comments, ids and all kinds of line ends',
  async (_, fetched) => {
    const frames = [
      ...[
        ': hello\r\r',
        'id: 1\r\nretry: 5\r\ndata: \r\n\r\n',
        `event: message\nid: 2\ndata: ${INITIALIZE}\n\n`,
        'data: cut',
      ],
    ];
    const body = Buffer.from(frames.join(''));
    const chunks = [body.subarray(0, 90), body.subarray(90, 91), body.subarray(91)].map((piece) =>
      Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')]),
    );
    const head = [
      ...[
        'HTTP/1.1 200 Fine',
        'cOnTeNt-TyPe: text/event-stream',
        'Set-Cookie: a=secret',
        'transfer-encoding: chunked',
        '',
        '',
      ],
    ].join('\r\n');
    const answer = Buffer.concat([Buffer.from(head), ...chunks, Buffer.from('0\r\n\r\n')]);
    const { port, received } = await rawServer(answer);
    const capture = new Capture();
    expect(await fetched(port, capture)).toBe(body.toString());
    const records = await recordsOf(capture);
    expect(records[0]).toMatchObject({ layer: 'open', protocol: 'http', role: 'client', peer: `127.0.0.1:${port}` });
    expect(sha256(bytesOf(records, 's>c'))).toBe(sha256(answer));
    expect(sha256(bytesOf(records, 'c>s'))).toBe(sha256(Buffer.concat(received)));
    expect(partsOf(records, 'c>s')[0]!.text).toMatch(/\r\nx-odd: kept\r\n/i);
    const found = partsOf(records, 's>c').filter(({ layer }) => layer === 'frame' || layer === 'message');
    expect(found.map(({ layer, text: shown, note }) => [layer, shown, note])).toEqual([
      ...frames.slice(0, 3).map((frame) => ['frame', frame, undefined]),
      ['message', INITIALIZE, undefined],
      ['frame', 'data: cut', 'cut off'],
    ]);
  },
);

/** A child that saves what it reads, writes pieces to stdout and stderr, and exits. */
const CHILD = `
  const [file, ...pieces] = process.argv.slice(1);
  const input = require('node:fs').createWriteStream(file);
  process.stdin.pipe(input);
  process.stdin.on('end', () => input.once('close', async () => {
    for (const piece of pieces) {
      const stream = piece[0] === 'e' ? process.stderr : process.stdout;
      await new Promise((done) => stream.write(Buffer.from(piece.slice(1), 'base64'), done));
    }
  }));
`;

test('a tapped child has its stray lines, its last line and its stderr in order', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'everwire-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'stdin');
  const out = Buffer.concat([
    Buffer.from(`starting…\r\n\n[info] ready\n${INITIALIZE}\n\xff`),
    Buffer.from([0xff, 0xfe, 0x0a]),
    Buffer.from(`${LIST}\r\n{"jsonrpc":"2.0","method":"last"}`),
  ]);
  const err = Buffer.from('first ä\nsecond');
  const pieces = [
    ...inPieces(err).map((piece) => `e${piece.toString('base64')}`),
    ...inPieces(out).map((piece) => `o${piece.toString('base64')}`),
  ];
  const capture = new Capture();
  const child = childTransport({
    command: process.execPath,
    args: ['-e', CHILD, file, ...pieces],
    stderr: 'capture',
    wiretap: capture,
  });
  const closed = new Promise<void>((resolve) => (child.onclose = resolve));
  child.onerror = () => {};
  await child.start();
  await child.send(request('ü', 'a/b', { text: '€' }));
  await child.send(notification('c'));
  await child.close();
  await closed;
  const records = await recordsOf(capture);
  expect(sha256(bytesOf(records, 'c>s'))).toBe(sha256(await readFile(file)));
  expect(sha256(bytesOf(records, 's>c'))).toBe(sha256(out));
  expect(sha256(bytesOf(records, 'stderr'))).toBe(sha256(err));
  expect(partsOf(records, 'c>s').flatMap(({ layer, method }) => (layer === 'message' ? [method] : []))).toEqual([
    'a/b',
    'c',
  ]);
  expect(partsOf(records, 's>c').map(({ layer, method, note }) => method ?? note ?? layer)).toEqual([
    ...['line', 'line', 'line', 'line', 'initialize', 'line', 'line', 'tools/list', 'without a line end', 'last'],
  ]);
  expect(partsOf(records, 'stderr').map(({ layer, text: line }) => [layer, line])).toEqual([
    ['stderr', 'first ä\n'],
    ['stderr', 'second'],
  ]);
  expect(records[0]).toMatchObject({ layer: 'open', protocol: 'stdio', role: 'client', peer: 'node' });
  expect(records.at(-1)!.layer).toBe('close');
});

test('the server’s end of stdio records both directions', async () => {
  const capture = new Capture();
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const server = new McpServer({ name: 'tapped', version: '1' });
  const transport = stdioServerTransport({ stdin, stdout, wiretap: capture });
  await server.connect(transport);
  transport.onerror = () => {};
  const closed = new Promise<void>((resolve) => {
    const { onclose } = transport;
    transport.onclose = () => {
      onclose?.();
      resolve();
    };
  });
  const written: Buffer[] = [];
  stdout.on('data', (chunk: Buffer) => written.push(chunk));
  const sent = Buffer.from(`stray\n${INITIALIZE}\r\n${LIST}`);
  for (const piece of inPieces(sent)) stdin.write(piece);
  stdin.end();
  await closed;
  const records = await recordsOf(capture);
  expect(sha256(bytesOf(records, 'c>s'))).toBe(sha256(sent));
  expect(sha256(bytesOf(records, 's>c'))).toBe(sha256(Buffer.concat(written)));
  expect(partsOf(records, 'c>s').filter(({ layer }) => layer === 'line')).toHaveLength(3);
  expect(records.at(-1)!.layer).toBe('close');
});
