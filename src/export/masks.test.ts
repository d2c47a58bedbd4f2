import { describe, expect, test } from 'vitest';
import { Masks } from './masks.ts';

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
  ])('in the text %s', (text) => {
    expect(masks.text(text)).toContain('**********');
    expect(masks.text(text)).not.toContain(SECRET);
  });

  test.each([
    { apiKeys: [SECRET, [SECRET]] },
    { secret: { value: SECRET } },
    { properties: { password: { token: SECRET } } },
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

test('a schema of a secret is no secret', () => {
  const schema = { properties: { password: { type: 'string', enum: ['one', 'two'] } }, required: ['password'] };
  expect(masks.value(schema)).toEqual(schema);
});

test('a hostile text takes linear time', () => {
  const texts = [' ', '\\', 'a', 'a.', 'token=', 'token="', '"\':', 'a: ', 'https://'].map((each) =>
    `a${each}`.repeat(200_000),
  );
  const runs = [' ', '\\'].map((each) => `token${each.repeat(1_000_000)}`);
  const start = performance.now();
  for (const text of [...texts, ...runs]) masks.text(text);
  expect(performance.now() - start).toBeLessThan(10_000);
});
