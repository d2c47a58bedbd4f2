import { describe, expect, test } from 'vitest';
import * as inBrowsers from './bytes.browser.ts';
import * as inNode from './bytes.ts';
import { inNextTurn } from './next-turn.browser.ts';
import { decodeUtf8 as utf8InBrowsers } from './utf8.browser.ts';
import { decodeUtf8 as utf8InNode } from './utf8.ts';
import { utf8Stream as streamInBrowsers } from './utf8-stream.browser.ts';
import { utf8Stream as streamInNode } from './utf8-stream.ts';

const LONG = Uint8Array.from({ length: 20_000 }, (_, index) => index % 256);

describe.each([
  ['Node', inNode, utf8InNode, streamInNode],
  ['a browser', inBrowsers, utf8InBrowsers, streamInBrowsers],
])('in %s', (_where, bytes, decodeUtf8, utf8Stream) => {
  test('text becomes UTF-8 and text again', () => {
    const text = '\ufeffKöln 🎉';
    expect([...bytes.encodeUtf8('ö€')]).toEqual([0xc3, 0xb6, 0xe2, 0x82, 0xac]);
    expect(decodeUtf8(bytes.encodeUtf8(text))).toBe(text);
    expect(decodeUtf8(Uint8Array.of(0x61, 0xc3))).toBeUndefined();
    expect(decodeUtf8(Uint8Array.of(0x78, 0x61, 0x78).subarray(1, 2))).toBe('a');
  });

  test('each byte is one character of Latin-1', () => {
    const text = bytes.decodeLatin1(LONG);
    expect(text).toHaveLength(LONG.length);
    expect(Array.from(text, (character) => character.codePointAt(0))).toEqual([...LONG]);
    expect(bytes.decodeLatin1(LONG.subarray(65, 70), 3)).toBe('ABC');
  });

  test('Base64 is accepted only with the right characters and padding', () => {
    expect(bytes.encodeBase64(LONG)).toBe(Buffer.from(LONG).toString('base64'));
    expect([...bytes.decodeBase64('w7Y=')!]).toEqual([0xc3, 0xb6]);
    for (const wrong of ['w7Y', 'w7Z=', 'w7Y= ', 'w 7Y=', 'w7-_', '='])
      expect(bytes.decodeBase64(wrong)).toBeUndefined();
  });

  test('a character may be in two chunks', () => {
    const decode = utf8Stream();
    expect([decode(Uint8Array.of(0xef, 0xbb, 0xbf, 0x61, 0xc3)), decode(Uint8Array.of(0xb6))]).toEqual([
      '\ufeffa',
      'ö',
    ]);
  });

  test('bytes have the length that was asked for', () => {
    expect(bytes.allocate(65)).toHaveLength(65);
  });
});

test('in a browser, functions run in the next turn, in order', async () => {
  const seen: number[] = [];
  const last = new Promise<void>((resolve) => {
    inNextTurn(() => seen.push(1));
    inNextTurn(() => {
      seen.push(2);
      resolve();
    });
  });
  await Promise.resolve();
  expect(seen).toEqual([]);
  await last;
  expect(seen).toEqual([1, 2]);
});
