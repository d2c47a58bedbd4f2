import { describe, expect, onTestFinished, test } from 'vitest';
import { recordedHttp } from '../../test/support/recorded-http.ts';
import { memoryEraCache } from '../wire/era-cache.ts';
import { connect } from './connect.ts';
import type { ClientOptions } from './options.ts';
import type { UrlTarget } from './target.ts';

async function textFrom(target: UrlTarget, options: ClientOptions = {}): Promise<unknown> {
  const client = await connect(target, { onerror: () => {}, ...options });
  onTestFinished(() => client.close());
  return (await client.callTool('there')).content;
}

const THERE = [{ type: 'text', text: 'it is there' }];

describe('a URL with a transport', () => {
  test('uses only HTTP+SSE', async () => {
    const { asked, url, sseUrl } = await recordedHttp();
    expect(await textFrom({ url: sseUrl, transport: 'sse' })).toEqual(THERE);
    expect(asked[0]).toBe('GET /sse');
    expect(asked).not.toContain('POST /sse');
    await expect(textFrom({ url: `${url}/none`, transport: 'sse' })).rejects.toThrow(/404/);
    expect(asked.filter((each) => each.endsWith('/none'))).toEqual(['GET /mcp/none']);
  });

  test.each(['modern', 'legacy'] as const)('uses only Streamable HTTP: %s', async (eras) => {
    const { asked, url, sseUrl } = await recordedHttp();
    expect(await textFrom({ url: new URL(url), transport: 'http' }, { eras })).toEqual(THERE);
    await expect(textFrom({ url: sseUrl, transport: 'http' }, { eras })).rejects.toThrow(/Method not allowed/);
    expect(asked).not.toContain('GET /sse');
  });

  test('stores no era for a URL whose transport is given', async () => {
    const { sseUrl } = await recordedHttp();
    const eraCache = memoryEraCache();
    await textFrom({ url: sseUrl, transport: 'sse' }, { eraCache });
    expect(eraCache.get(new URL(sseUrl).href)).toBeUndefined();
  });

  test('detects the transport if none is given', async () => {
    const { asked, url, sseUrl } = await recordedHttp();
    expect(await textFrom({ url })).toEqual(THERE);
    expect(await textFrom({ url: sseUrl })).toEqual(THERE);
    expect(asked).toEqual(expect.arrayContaining(['POST /sse', 'GET /sse']));
  });

  test.each<[UrlTarget, ClientOptions, RegExp]>([
    [{ url: 'http://a.example', transport: 'ws' as 'sse' }, {}, /the transport must be http or sse/],
    [
      { url: 'http://a.example', transport: 'sse' },
      { revision: '2026-07-28' },
      /2026-07-28 does not exist over HTTP\+SSE/,
    ],
    [{ url: 'http://a.example', transport: 'sse' }, { eras: 'modern' }, /has no modern revision/],
    [['node', 'a.js'] as never, {}, /takes a command as \{ command: "node", args: \["a\.js"\] \}/],
    [{ url: 'http://a.example' }, { proxy: 'socks5://a.example' }, /proxy must be an http or https URL/],
    [{ url: 'http://a.example' }, { proxy: false, fetch }, /only one of fetch and proxy/],
    [{ url: 'ftp://a.example' }, {}, /must begin with http: or https:/],
  ])('%j with %j is refused', async (target, options, message) => {
    const refused = connect(target, options);
    await expect(refused).rejects.toThrow(TypeError);
    await expect(refused).rejects.toThrow(message);
  });
});
