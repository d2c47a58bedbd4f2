import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { WireProtocol, WireStream } from '../transport/wiretap.ts';
import { readersFor, type StreamReader } from './layers.ts';
import type { Part } from './record.ts';

/** Bytes of a stream: text is one chunk. */
type Sent = readonly [stream: WireStream, bytes: string | Buffer];

/** What is found in bytes, and the bytes that are secret. */
function found(protocol: WireProtocol, sent: readonly Sent[]) {
  const parts: (Part & { stream: WireStream })[] = [];
  const streams = new Map<WireStream, { reader: StreamReader; bytes: Buffer; secret: Set<number> }>();
  const create = readersFor(protocol, true);
  for (const [stream, given] of sent) {
    const secret = new Set<number>();
    const at = streams.get(stream) ?? {
      reader: create(stream, {
        onpart: (part) => parts.push({ stream, ...part }),
        onsecret: (start, end) => {
          for (let offset = start; offset < end; offset += 1) secret.add(offset);
        },
      }),
      bytes: Buffer.alloc(0),
      secret,
    };
    streams.set(stream, at);
    const bytes = Buffer.from(given as string);
    at.bytes = Buffer.concat([at.bytes, bytes]);
    at.reader.push(bytes);
  }
  for (const { reader } of streams.values()) reader.end();
  const textOf = ({ stream, range }: (typeof parts)[number]): string => {
    const pieces: Buffer[] = [];
    for (let i = 0; i < range.length; i += 2) pieces.push(streams.get(stream)!.bytes.subarray(range[i], range[i + 1]));
    return Buffer.concat(pieces).toString();
  };
  return {
    parts,
    /** Each part as its layer, exchange, text and note. */
    shown: parts.map((part) => {
      const { layer, exchange, note, kind, id, method } = part;
      const message = layer === 'message' ? [kind, id, method].filter((value) => value !== undefined).join(' ') : '';
      return (
        [layer, exchange, message].filter(Boolean).join(' ') +
        (note === undefined ? '' : ` (${note})`) +
        `: ${textOf(part)}`
      );
    }),
    /** The streams with secrets replaced. */
    masked: Object.fromEntries(
      [...streams].map(([stream, { bytes, secret }]) => [
        stream,
        Buffer.from(bytes.map((byte, offset) => (secret.has(offset) ? 0x2a : byte))).toString(),
      ]),
    ),
  };
}

const http = (...sent: readonly Sent[]) => found('http', sent).shown;
const answer = (text: string | Buffer) => http(['s>c', text]);
const stdio = (...lines: string[]) =>
  found(
    'stdio',
    lines.map((line) => ['s>c', line] as const),
  ).shown;

const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
const pong = '{"jsonrpc":"2.0","id":1,"result":{}}';
const OK = 'HTTP/1.1 200 OK\r\n';
const STREAM = `${OK}content-type: text/event-stream\r\n\r\n`;

describe('lines of stdio', () => {
  test('are kept with their line ends, and the messages in them without', () => {
    expect(stdio(`${ping}\r\n`, `${pong}\n`)).toEqual([
      `line: ${ping}\r\n`,
      `message request 1 ping: ${ping}`,
      `line: ${pong}\n`,
      `message result 1: ${pong}`,
    ]);
  });

  test('that are not messages are only lines', () => {
    const stray = [
      'starting\n',
      '\n',
      '\r\n',
      '[info] ready\n',
      '[1]\n',
      '{}\n',
      '{"a":1}\n',
      '{"method":"a"\n',
      '7\n',
    ];
    expect(stdio(stray.join(''))).toEqual(stray.map((line) => `line: ${line}`));
  });

  test('may be a batch, a notification or an error', () => {
    expect(stdio(`[${ping}]\n{"method":"a"}\n{"error":{},"id":null}\n`).filter((part) => part.startsWith('m'))).toEqual(
      [`message batch: [${ping}]`, 'message notification a: {"method":"a"}', 'message error: {"error":{},"id":null}'],
    );
  });

  test('are requests if they have an id, whether it can be shown or not', () => {
    for (const id of ['12345678901234567890', JSON.stringify('x'.repeat(100)), '1.5', 'null'])
      expect(stdio(`{"id":${id},"method":"a"}\n`)[1]).toMatch(/^message request a: /);
    const many = `{${'"a":1,'.repeat(1000)}"id":7,"result":{}}`;
    expect(stdio(`${many}\n`)[1]).toBe(`message result 7: ${many}`);
  });

  test('may have a carriage return inside, and the last one no line end', () => {
    expect(stdio(`a\rb\n${pong}\r`)).toEqual([
      'line: a\rb\n',
      `line (without a line end): ${pong}\r`,
      `message result 1: ${pong}\r`,
    ]);
  });

  test('of stderr hold no messages', () => {
    expect(found('stdio', [['stderr', `${ping}\nlast`]]).shown).toEqual([
      `stderr: ${ping}\n`,
      'stderr (without a line end): last',
    ]);
  });
});

describe('an HTTP head', () => {
  test('is kept as it was sent', () => {
    const request = 'POST /mcp HTTP/1.1\r\nhOsT: a\nX-Odd:  b \r\nX-Odd:c\r\nContent-LENGTH: 40\r\n\r\n';
    expect(http(['c>s', `\r\n\r\n${request}${ping}`])).toEqual([
      `head 1: ${request}`,
      `message 1 request 1 ping: ${ping}`,
      `body 1: ${ping}`,
    ]);
  });

  test('counts pipelined requests and their answers', () => {
    const get = 'GET / HTTP/1.1\r\n\r\n';
    const head = 'HEAD / HTTP/1.1\r\n\r\n';
    const empty = `${OK}content-length: 9\r\n\r\n`;
    const shown = http(
      ['c>s', get + head + get],
      [
        's>c',
        `HTTP/1.1 103 Early Hints\r\n\r\n${OK}content-length: 2\r\n\r\nhi${empty}HTTP/1.1 304 Same\r\ncontent-length: 9\r\n\r\n`,
      ],
    );
    expect(shown).toEqual([
      `head 1: ${get}`,
      `head 2: ${head}`,
      `head 3: ${get}`,
      'head 1: HTTP/1.1 103 Early Hints\r\n\r\n',
      `head 1: ${OK}content-length: 2\r\n\r\n`,
      'body 1: hi',
      `head 2: ${empty}`,
      'head 3: HTTP/1.1 304 Same\r\ncontent-length: 9\r\n\r\n',
    ]);
  });

  test.each([
    ['an unknown version', 'HTTP/2.0 200 OK\r\n\r\n', 'not HTTP/1.1'],
    ['no status', 'HTTP/1.1 OK\r\n\r\n', 'not HTTP/1.1'],
    ['a field without a colon', 'HTTP/1.1 204 No\r\nnonsense\r\n\r\n', 'a malformed header'],
    ['a space before the colon', 'HTTP/1.1 204 No\r\na : b\r\n\r\n', 'a malformed header'],
    ['a folded field', 'HTTP/1.1 204 No\r\na: b\r\n c\r\n\r\n', 'a folded header'],
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n', 'a malformed Content-Length'],
    ['an invalid length', 'HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n', 'a malformed Content-Length'],
    ['no end', 'HTTP/1.1 200 OK\r\na: b\r\n', 'cut off'],
  ])('with %s gets a note', (_, text, note) => {
    expect(answer(text)).toEqual([`head 1 (${note}): ${text}`]);
  });

  test('that is too large gets a note, and nothing is read after it', () => {
    const [head, ...others] = found('http', [['s>c', `${OK}a: ${'x'.repeat(70_000)}\r\n\r\n${OK}\r\n`]]).parts;
    expect(head).toMatchObject({ layer: 'head', note: 'larger than 64 KiB', range: [0, 65_536] });
    expect(others).toEqual([]);
  });

  test('that names a length twice is well-formed if it is the same', () => {
    expect(answer(`${OK}content-length: 2, 2\r\n\r\nhi`).at(-1)).toBe('body 1: hi');
  });

  test('of a request without a readable length leaves the rest unread', () => {
    const head = 'POST / HTTP/1.1\r\ntransfer-encoding: gzip\r\n\r\n';
    expect(http(['c>s', `${head}GET / HTTP/1.1\r\n\r\n`])).toEqual([
      `head 1 (a request whose end is unknown): ${head}`,
      'body 1: GET / HTTP/1.1\r\n\r\n',
    ]);
  });
});

describe('an HTTP body', () => {
  test('in chunks has extensions and trailers', () => {
    const last = '0\r\nX-Sum: 1\r\n\r\n';
    const text = `5;a=b\r\n{"jso\r\n1F\r\n${pong.slice(5)}\r\n${last}`;
    expect(answer(`${OK}Transfer-Encoding: Chunked\r\n\r\n${text}${OK}\r\n`)).toEqual([
      `head 1: ${OK}Transfer-Encoding: Chunked\r\n\r\n`,
      'chunk 1: 5;a=b\r\n{"jso\r\n',
      `chunk 1: 1F\r\n${pong.slice(5)}\r\n`,
      `chunk 1: ${last}`,
      `message 1 result 1: ${pong}`,
      `body 1: ${text}`,
      `head 2: ${OK}\r\n`,
    ]);
  });

  test.each([
    ['a size that is no number', 'xyz\r\nhello', 'body 1 (a malformed chunk size): xyz\r\n'],
    ['a size that is too long', `${'1'.repeat(14)}\r\n`, `body 1 (a malformed chunk size): ${'1'.repeat(14)}\r\n`],
    ['more bytes than its size', '2\r\nhello\r\n', 'body 1 (a chunk that is longer than its size): 2\r\nhell'],
    ['no end', '2\r\nh', 'body 1 (cut off): 2\r\nh'],
  ])('in a chunk with %s gets a note', (_, text, expected) => {
    expect(answer(`${OK}transfer-encoding: chunked\r\n\r\n${text}`).at(-1)).toBe(expected);
  });

  test('ends with the connection if no length is given', () => {
    expect(answer(`${OK}\r\n${pong}`).slice(1)).toEqual([`message 1 result 1: ${pong}`, `body 1: ${pong}`]);
  });

  test('with both framings is read in chunks and gets a note', () => {
    const head = `${OK}transfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n`;
    expect(answer(`${head}0\r\n\r\n`)[0]).toBe(`head 1 (both Transfer-Encoding and Content-Length): ${head}`);
  });

  test('that is compressed has no messages', () => {
    const body = answer(`${OK}content-encoding: gzip\r\ncontent-length: ${pong.length}\r\n\r\n${pong}`).slice(1);
    expect(body).toEqual([`body 1: ${pong}`]);
  });

  test('is not looked for after an upgrade or in a tunnel', () => {
    const upgrade = 'HTTP/1.1 101 Switching Protocols\r\n\r\n';
    expect(http(['s>c', `${upgrade}GET / HTTP/1.1\r\n\r\n`], ['c>s', 'GET / HTTP/1.1\r\n\r\n'])).toEqual([
      `head 1: ${upgrade}`,
    ]);
    const connect = 'CONNECT a:443 HTTP/1.1\r\n\r\n';
    expect(http(['c>s', connect], ['s>c', `${OK}\r\n\x16\x03`], ['c>s', 'POST'])).toHaveLength(2);
  });
});

describe('an event stream', () => {
  test.each([
    ['line feeds', '\n'],
    ['carriage returns and line feeds', '\r\n'],
    ['carriage returns', '\r'],
  ])('has frames with ids, comments and retry: lines end with %s', (_, end) => {
    const lines = (...texts: string[]): string => [...texts, '', ''].join(end);
    const frames = [
      lines('\ufeffid: 1', 'retry: 10', 'data: '),
      lines(': keep-alive'),
      lines('event: message', 'id: 2', `data: ${pong}`),
      lines('data', `data:{"method":`, 'data: "a"}', 'datax: 1'),
    ];
    expect(answer(STREAM + frames.join('')).slice(1, -1)).toEqual([
      `frame 1: ${frames[0]}`,
      `frame 1: ${frames[1]}`,
      `frame 1: ${frames[2]}`,
      `message 1 result 1: ${pong}`,
      `frame 1: ${frames[3]}`,
      'message 1 notification a: {"method":"a"}',
    ]);
  });

  test('has frames across chunks, without the sizes of the chunks', () => {
    const frame = `data: ${pong}\n\n`;
    const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
    const parts = answer(
      `${OK}content-type: Text/Event-Stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n${chunk(frame.slice(0, 9))}${chunk(frame.slice(9) + frame)}`,
    );
    expect(parts.slice(1, -1)).toEqual([
      `chunk 1: ${chunk(frame.slice(0, 9))}`,
      `frame 1: ${frame}`,
      `message 1 result 1: ${pong}`,
      `frame 1: ${frame}`,
      `message 1 result 1: ${pong}`,
      `chunk 1: ${chunk(frame.slice(9) + frame)}`,
    ]);
  });

  test('may be cut off inside a frame, and may have empty lines between frames', () => {
    expect(answer(`${STREAM}\n\r\n\rdata: ${pong}\n\n\r\n\ndata: ${pong}\n`).slice(1, -1)).toEqual([
      `frame 1: data: ${pong}\n\n`,
      `message 1 result 1: ${pong}`,
      `frame 1 (cut off): data: ${pong}\n`,
    ]);
  });

  test('may end where a line feed could still belong to the last frame', () => {
    expect(answer(`${STREAM}: a\n\r`).slice(1, -1)).toEqual(['frame 1: : a\n\r']);
  });

  test('whose lines end with carriage returns shows each frame when it ends', () => {
    const shown: string[] = [];
    const reader = readersFor('http', true)('s>c', { onpart: ({ layer }) => shown.push(layer), onsecret: () => {} });
    reader.push(Buffer.from(`${STREAM}data: ${pong}\r\r`));
    expect(shown).toEqual(['head', 'frame', 'message']);
    reader.push(Buffer.from('\n: and a line feed is no frame\r\r'));
    expect(shown).toEqual(['head', 'frame', 'message', 'frame']);
  });

  test('in very many chunks has a bounded range', () => {
    const chunks = Array.from(`: ${'x'.repeat(3000)}\n\n`, (byte) => `1\r\n${byte}\r\n`).join('');
    const { parts } = found('http', [
      ['s>c', `${OK}content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n${chunks}`],
    ]);
    const frame = parts.find(({ layer }) => layer === 'frame')!;
    expect(frame.range).toHaveLength(2000);
    expect(frame.note).toMatch('too many pieces');
  });
});

describe('secrets', () => {
  const head = [
    'GET /mcp?access_token=abc&page=2&code=xyz HTTP/1.1',
    'Host: a',
    'AUTHORIZATION:   Bearer  abc',
    'proxy-authorization: Basic abc',
    'Cookie: a=b; c=d',
    'X-Api-Key:abc',
    ' folded',
    'X-Token : abc',
    'Accept: */*',
    '',
    '',
  ].join('\r\n');
  const masked = [
    'GET /mcp?access_token=***&page=2&code=*** HTTP/1.1',
    'Host: a',
    'AUTHORIZATION:   ***********',
    'proxy-authorization: *********',
    'Cookie: ********',
    'X-Api-Key:***',
    ' ******',
    'X-Token : ***',
    'Accept: */*',
    '',
    '',
  ].join('\r\n');

  test('in a head are found', () => {
    expect(found('http', [['c>s', head]]).masked['c>s']).toBe(masked);
  });

  test('are found byte by byte', () => {
    const bytes = Array.from(head, (byte) => ['c>s', byte] as const);
    expect(found('http', bytes).masked['c>s']).toBe(masked);
  });

  test('in a target end at the next parameter', () => {
    const line = 'GET /?a?x=1=2&b &token=?a=b?&token=&&=c&token HTTP/1.1\r\n\r\n';
    const hidden = 'GET /?a?x=1=2&b &token=*****&token=&&=c&token HTTP/1.1\r\n\r\n';
    expect(found('http', [['c>s', line]]).masked['c>s']).toBe(hidden);
    const bytes = Array.from(line, (byte) => ['c>s', byte] as const);
    expect(found('http', bytes).masked['c>s']).toBe(hidden);
  });

  test.each([
    'X-Serverless-Authorization',
    'Ocp-Apim-Subscription-Key',
    'X-Functions-Key',
    'X-Pass',
    'DPoP',
    'X-Auth',
    'X-Amz-Signature',
    'pwd',
  ])('have names such as %s', (name) => {
    const [line, hidden] = ['abc', '***'].map(
      (value) => `GET /?${name}=${value}&b=c HTTP/1.1\r\n${name}: ${value}\r\n\r\n`,
    );
    expect(found('http', [['c>s', line!]]).masked['c>s']).toBe(hidden);
  });

  test.each([
    'Mcp-Session-Id',
    'WWW-Authenticate',
    'Keep-Alive',
    'Author',
    'Access-Control-Allow-Credentials',
    'monkey',
  ])('have no names such as %s', (name) => {
    const text = `GET /?${name}=abc HTTP/1.1\r\n${name}: abc\r\n\r\n`;
    expect(found('http', [['c>s', text]]).masked['c>s']).toBe(text);
  });

  test('may be values of parameters whose names are too long to be kept', () => {
    const line = `nonsense\n?${'x'.repeat(70_000)}=`;
    expect(found('http', [['c>s', `${line}abc&b=c`]]).masked['c>s']).toBe(`${line}***&b=c`);
  });

  test('are found in a time that grows only with the length of a target', async () => {
    const secrets: number[] = [];
    for (let n = 0; n < 20; n += 1) {
      const reader = readersFor('http', true)('c>s', { onpart: () => {}, onsecret: (start) => secrets.push(start) });
      reader.push(Buffer.from(`GET /?token=a&${'?'.repeat(60_000)} HTTP/1.1\r\n\r\n`));
      await new Promise((resolve) => void setImmediate(resolve));
    }
    expect(secrets).toHaveLength(20);
  }, 10_000);

  test.each([
    ['after a line that is not HTTP', 'nonsense\r\n\r\n'],
    ['after a chunk without a size', 'POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nnonsense\r\n'],
    ['in place of the size of a chunk', 'POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n'],
    ['after a head that is too large', `GET / HTTP/1.1\r\n${'a: b\r\n'.repeat(11_000)}`],
    ['across the largest size of a head', `GET / HTTP/1.1\r\na: ${'b'.repeat(65_536 - 50)}\r\n`],
  ])('%s are found', (_, before) => {
    expect(found('http', [['c>s', before + head]]).masked['c>s']).toBe(before + masked);
    const pieces = (before + head).match(/[^]{1,50}/g)!.map((piece) => ['c>s', piece] as const);
    expect(found('http', pieces).masked['c>s']).toBe(before + masked);
  });

  test('that began in missing bytes, or before bytes of the other direction were missing, are found', () => {
    const secret = new Map<WireStream, string>();
    const create = readersFor('http', true);
    const [requests, responses] = (['c>s', 's>c'] as const).map((stream) => {
      const onsecret = (start: number, end: number): void =>
        void secret.set(stream, `${secret.get(stream) ?? ''}${start}-${end} `);
      return create(stream, { onpart: () => {}, onsecret });
    });
    requests!.push(Buffer.from('GET / HTTP/1.1\r\nauthorization: Bea'));
    responses!.skip(100);
    requests!.push(Buffer.from('rer abc\r\naccept: a\r\n\r\n'));
    responses!.push(Buffer.from('b; c=d\r\ndate: now\r\n\r\n'));
    expect(Object.fromEntries(secret)).toEqual({ 'c>s': '31-34 34-41 ', 's>c': '100-106 ' });
  });

  test('in trailers and after what cannot be read are found', () => {
    const text = `${OK}transfer-encoding: chunked\r\n\r\n0\r\nset-cookie: abc\r\n\r\nnonsense\r\n\r\nx\r\nset-cookie: abc\r\n\r\n`;
    expect(found('http', [['s>c', text]]).masked['s>c']).toBe(text.replaceAll('abc', '***'));
  });
});

/** Pieces of traffic, well-formed and malformed, in any order. */
const fragment = fc.constantFrom(
  ...['\r', '\n', '\r\n', '\r\n\r\n', '\n\n', ' ', '\ufeff', 'ä', '€', '0', '5\r\nhello', '1;x\r\n€', 'HTTP/1.1 '],
  ...[
    `${OK}\r\n`,
    STREAM,
    `${OK}content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n`,
    'data: ',
    'data:',
  ],
  ...['id: 7', ': note', ping, pong, `[${ping}]`, `data: ${pong}\n\n`, `data: ${pong}\r\r`, `data: ${pong}\r\n\r\n`],
  ...[
    `POST / HTTP/1.1\r\nContent-Length: ${ping.length}\r\n\r\n${ping}`,
    'HEAD / HTTP/1.1\r\n\r\n',
    'Authorization: Bearer abc',
    'GET /?token=a&code=b:c HTTP/1.1\r\n',
  ],
  ...['POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n', '28\r\n', 'HTTP/1.1 101 x\r\n\r\n', '{"method":'],
);

const CHUNKED_STREAM = `${OK}content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n`;

/** A stream that may begin well. In chunks, each fragment is one. */
const traffic = fc
  .tuple(
    fc.constantFrom<[WireStream, string]>(
      ...([
        ['s>c', STREAM],
        ['s>c', CHUNKED_STREAM],
        ['s>c', ''],
        ['c>s', 'POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n'],
        ['c>s', ''],
        ['stderr', ''],
      ] satisfies [WireStream, string][]),
    ),
    fc.array(fc.oneof({ weight: 4, arbitrary: fragment }, fc.string()), { maxLength: 30 }),
  )
  .map(([[stream, start], fragments]): [WireStream, Buffer] => {
    const inChunks = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
    const chunked = start.includes('chunked');
    return [stream, Buffer.from(start + fragments.map(chunked ? inChunks : String).join(''))];
  });

test.each(['http', 'stdio'] as const)('any split of the bytes of %s gives the same parts and secrets', (protocol) => {
  const layers = new Set<string>();
  fc.assert(
    fc.property(traffic, fc.array(fc.nat({ max: 60 }), { maxLength: 40 }), ([stream, bytes], sizes) => {
      const pieces: Sent[] = [];
      let at = 0;
      for (const size of [...sizes, bytes.length]) {
        pieces.push([stream, bytes.subarray(at, at + size)]);
        at += size;
      }
      const { parts, masked } = found(protocol, [...pieces, [stream, '']]);
      expect(found(protocol, [[stream, bytes]])).toMatchObject({ parts, masked });
      const single = Array.from(bytes, (byte) => [stream, Buffer.of(byte)] as const);
      expect(found(protocol, [...single, [stream, '']])).toMatchObject({ parts, masked });
      for (const { layer } of parts) layers.add(layer);
    }),
    { numRuns: 1000 },
  );
  const all = protocol === 'http' ? ['head', 'chunk', 'body', 'frame', 'message'] : ['line', 'message'];
  expect([...layers].toSorted()).toEqual([...all, 'stderr'].toSorted());
});

test.each(['http', 'stdio'] as const)(
  'hostile bytes of %s never throw, and ranges stay inside the stream',
  (protocol) => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.constantFrom<WireStream>('c>s', 's>c'), fc.uint8Array())), (sent) => {
        const { parts } = found(
          protocol,
          sent.map(([stream, bytes]) => [stream, Buffer.from(bytes)] as const),
        );
        for (const { stream, range } of parts) {
          const size = sent.filter(([of]) => of === stream).reduce((sum, [, bytes]) => sum + bytes.length, 0);
          expect(range.length % 2).toBe(0);
          expect(range.every((offset, index) => offset >= (range[index - 1] ?? 0) && offset <= size)).toBe(true);
        }
      }),
    );
  },
);
