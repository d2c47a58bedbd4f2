import { describe, expect, test } from 'vitest';
import { readHead } from './http-head.ts';
import { Masks } from './masks.ts';
import type { RecordedExchange } from './recorded-wire.ts';

const SECRET = 'planted-secret';
const masks = new Masks({ exchanges: [], parts: [] });

describe('a secret is masked', () => {
  test.each([
    `https://host.example/?access_token=${SECRET}#x`,
    `see https://u:${SECRET}@host.example/cb#access_token=${SECRET}`,
    `curl -H "Authorization: Bearer ${SECRET}" host`,
    `Authorization: Basic ${SECRET}`,
    `note: password=${SECRET}`,
    `a:token = '${SECRET} and ${SECRET}'`,
    `{\\"token\\": \\"${SECRET}\\"}`,
    `{"password":"two words \\" ${SECRET}","x":1}`,
    `${'long-'.repeat(20)}token=${SECRET}`,
    `node server.js --api-key ${SECRET} --port 1`,
    `node server.js --token "${SECRET}"`,
    `grant_type=authorization_code&code=${SECRET}&x=1`,
    `grant_type=authorization_code&code_verifier=${SECRET}&x=1`,
    `device_code=${SECRET}`,
    `AccountKey=${SECRET};EndpointSuffix=x`,
    `{"privateKey":"${SECRET}"}`,
    `PROXY-AUTHORIZATION: Basic ${SECRET}`,
  ])('in the text %s', (text) => {
    expect(masks.text(text)).toContain('**********');
    expect(masks.text(text)).not.toContain(SECRET);
  });

  test.each([
    { apiKeys: [SECRET, [SECRET]] },
    { secret: { value: SECRET } },
    { properties: { password: { token: SECRET } } },
    { credentials: [SECRET] },
    { access_key: SECRET, accessKey: SECRET, api_keys: [SECRET], deviceCode: SECRET, codeVerifier: SECRET },
  ])('in the JSON %j', (value) => {
    expect(JSON.stringify(masks.value(value))).not.toContain(SECRET);
  });

  test('in a request line and in headers', () => {
    const head = masks.head(`GET /a;token=${SECRET}?x=1#key=${SECRET} HTTP/1.1\r\nX: token="${SECRET}"\r\n\r\n`);
    expect(head).toBe('GET /a;token=********** HTTP/1.1\r\nX: token="**********"');
  });

  test('also where it has no name, if it has one elsewhere', () => {
    const value = { tokens: [SECRET] };
    const part = {
      n: 1,
      t: 0,
      conn: 1,
      from: 'client',
      kind: 'message',
      title: '',
      text: JSON.stringify(value),
    } as const;
    expect(new Masks({ exchanges: [], parts: [part] }).text(`so ${SECRET}`)).toBe('so [redacted]');
  });
});

function exchange(head: string, responseHead = 'HTTP/1.1 200 OK', responseBody = ''): RecordedExchange {
  const [request, response] = [readHead(head), readHead(responseHead)];
  return { n: 1, records: [1], conn: 1, sent: 0, request, response, body: '', responseBody };
}

test('the id of a session is masked, wherever it is', () => {
  const id = 'abcdefgh-1234';
  const opened = exchange('POST /mcp HTTP/1.1', `HTTP/1.1 200 OK\r\nMcp-Session-Id: ${id}`);
  const sse = exchange(
    'GET /sse HTTP/1.1',
    'HTTP/1.1 200 OK',
    'event: endpoint\ndata: /messages?sessionId=sse-12345678\n\n',
  );
  const own = new Masks({ exchanges: [opened, sse], parts: [] });
  expect(own.head(`POST /mcp HTTP/1.1\r\nMCP-SESSION-ID: ${id}`)).toBe(
    'POST /mcp HTTP/1.1\r\nMCP-SESSION-ID: **********',
  );
  expect(own.text(`session ${id} ended`)).toBe('session [redacted] ended');
  expect(own.target('/messages?sessionId=sse-12345678')).toBe('/messages?sessionId=[redacted]');
});

test('the password of basic credentials is masked, wherever it is', () => {
  const credentials = Buffer.from(`ada:${SECRET}`).toString('base64');
  const own = new Masks({
    exchanges: [exchange(`POST / HTTP/1.1\r\nAUTHORIZATION: Basic ${credentials}`)],
    parts: [],
  });
  expect(own.text(`login of ada with ${SECRET}`)).toBe('login of ada with [redacted]');
});

test('numbers are masked only if they are secret', () => {
  const value = { password: 12_345_678, code: -32_602, maxTokens: 5, progressToken: 7 };
  expect(masks.value(value)).toEqual({ ...value, password: '**********' });
});

test('a schema of a secret is no secret', () => {
  const schema = { properties: { password: { type: 'string', enum: ['one', 'two'] } }, required: ['password'] };
  expect(masks.value(schema)).toEqual(schema);
});

test('a hostile text takes linear time', () => {
  const texts = [' ', '\\', 'a', 'a.', 'token=', 'token="', '--token ', ' --token', '"\':', 'a: ', 'https://'].map(
    (each) => `a${each}`.repeat(200_000),
  );
  const runs = [' ', '\\'].map((each) => `token${each.repeat(1_000_000)}`);
  const start = performance.now();
  for (const text of [...texts, ...runs]) masks.text(text);
  expect(performance.now() - start).toBeLessThan(10_000);
});

test.each(['[%]', '%'])('any number of secrets is found in one message: %s', (format) => {
  const text = `token=${SECRET} `.repeat(200_000);
  const message = format.replace('%', format === '%' ? text : JSON.stringify(text));
  const part = { n: 1, t: 0, conn: 1, from: 'server', kind: 'message', title: '', text: message } as const;
  expect(new Masks({ exchanges: [], parts: [part] }).text(`so ${SECRET}`)).toBe('so [redacted]');
});
