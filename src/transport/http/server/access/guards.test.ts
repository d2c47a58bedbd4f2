import { describe, expect, test } from 'vitest';
import { TestHttp, initialize } from '../../../../../test/support/http.ts';
import { scripted } from '../../../../../test/support/service.ts';
import { hostGuard, isLoopback, mediaType, type HostRules } from './guards.ts';

const { service } = scripted();

async function refusal(rules: HostRules, headers: Record<string, string>): Promise<string | undefined> {
  const http = new TestHttp(service, rules);
  const response = await http.post(initialize(), headers);
  if (response.status === 200) return undefined;
  expect([response.status, http.handler.sessions]).toEqual([403, 0]);
  return ((await response.json()) as { error: { message: string } }).error.message;
}

describe('a Host', () => {
  const allowedHosts = ['MCP.example', 'other.example:8443', 'Third.Example:1'];

  test.each<[string, HostRules]>([
    ['localhost', {}],
    ['LOCALHOST:3000', {}],
    ['app.localhost', {}],
    ['a.b.localhost:80', {}],
    ['127.0.0.1:3000', {}],
    ['127.255.10.99', {}],
    ['[::1]:3000', {}],
    ['[0:0::1]', {}],
    ['mcp.example', { allowedHosts }],
    ['Mcp.Example:9999', { allowedHosts }],
    ['other.example:8443', { allowedHosts }],
    ['Other.Example:8443', { allowedHosts }],
    ['third.example:1', { allowedHosts }],
    ['localhost', { allowedHosts }],
    ['192.168.100.1', { allowIpHosts: true }],
    ['10.10.10.255:8080', { allowIpHosts: true }],
    ['[2001:db8::1]', { allowIpHosts: true }],
    ['[2001:db8::1]:8080', { allowIpHosts: true }],
  ])('%s is accepted by the rules %j', async (host, rules) => {
    expect(await refusal(rules, { host })).toBeUndefined();
  });

  test.each<[string, HostRules]>([
    ['evil.example', {}],
    ['localhost.evil.example', {}],
    ['app.localhost.evil.example', {}],
    ['evillocalhost', {}],
    ['127.0.0.1.evil.example', {}],
    ['128.0.0.1', {}],
    ['12.127.0.0', {}],
    ['[::2]', {}],
    ['not a host', {}],
    ['localhost:port', {}],
    ['localhost/evil', {}],
    ['localhost?evil', {}],
    ['localhost#evil', {}],
    ['evil.example@localhost', {}],
    ['evil.example:80@127.0.0.1', {}],
    ['other.example:8444', { allowedHosts }],
    ['other.example', { allowedHosts }],
    ['mcp.example.evil', { allowedHosts }],
    ['evil.mcp.example', { allowedHosts }],
    ['192.0.2.1', {}],
    ['[2001:db8::1]', {}],
    ['192.0.2.1', { allowIpHosts: false }],
    ['evil.example', { allowIpHosts: true }],
    ['192.0.2.1.evil.example', { allowIpHosts: true }],
    ['a192.0.2.1.example', { allowIpHosts: true }],
  ])('%s is refused by the rules %j', async (host, rules) => {
    expect(await refusal(rules, { host })).toBe(
      `Host not allowed: ${host} (the option allowedHosts, or --allow-host, allows it)`,
    );
  });

  test('gives the same result each time', () => {
    const allowed = hostGuard({});
    expect(['localhost', 'evil.example', 'localhost', 'evil.example'].map(allowed)).toEqual([true, false, true, false]);
  });
});

describe('an Origin', () => {
  test.each<[string, HostRules]>([
    ['http://localhost:5173', {}],
    ['https://localhost', {}],
    ['http://127.0.0.1:80', {}],
    ['https://[::1]:1', {}],
    ['https://app.example', { allowedOrigins: ['https://APP.example/'] }],
    ['https://App.example', { allowedOrigins: ['https://app.example'] }],
    ['http://localhost', { allowedOrigins: ['https://app.example'] }],
    ['https://anyone.example', { allowedOrigins: ['*'] }],
    ['null', { allowedOrigins: ['*'] }],
  ])('%s is accepted by the rules %j', async (origin, rules) => {
    expect(await refusal(rules, { origin })).toBeUndefined();
  });

  test.each<[string, HostRules]>([
    ['https://evil.example', {}],
    ['null', {}],
    ['', {}],
    ['localhost', {}],
    ['ftp://localhost', {}],
    ['chrome-extension://localhost', {}],
    ['xhttp://localhost', {}],
    ['httpx://localhost', {}],
    ['http://localhost.evil.example', {}],
    ['https://app.localhost.evil.example', {}],
    ['http://app.example', { allowedOrigins: ['https://app.example'] }],
    ['https://app.example:8443', { allowedOrigins: ['https://app.example'] }],
    ['https://evil.example/app', { allowedOrigins: ['https://evil.example/app/x'] }],
    ['https://app.example.evil', { allowedOrigins: ['https://app.example'] }],
  ])('%s is refused by the rules %j', async (origin, rules) => {
    expect(await refusal(rules, { origin })).toBe(
      `Origin not allowed: ${origin} (the option allowedOrigins, or --allow-origin, allows it)`,
    );
  });
});

test.each(['x127.0.0.1', '127.0.0.1x', '127x0.0.1', '127.0x0.1', '127.0.0x1', '127.0.0.', '::1', 'xlocalhost', ''])(
  '%j is not a loopback host',
  (hostname) => {
    expect(isLoopback(hostname)).toBe(false);
  },
);

test.each([
  ['application/json', 'application/json'],
  ['Application/JSON; charset=utf-8', 'application/json'],
  [' text/plain ;x', 'text/plain'],
  [';', ''],
])('the media type in %j is %j', (contentType, expected) => {
  expect(mediaType(contentType)).toBe(expected);
});

describe('an Accept header', () => {
  const both = 'application/json, text/event-stream';

  test.each([
    both,
    'application/json;q=0.1,text/event-stream;q=0.001',
    'APPLICATION/JSON , Text/Event-Stream',
    '*/*',
    'application/*, text/*;q=0.5',
    `${both}, */*;q=0`,
    `*/*;q=0, ${both}`,
    `application/*;q=0, text/*;q=0, ${both}`,
    `${both}, application/*;q=0, text/*;q=0`,
    '*/*;q=0, application/*, text/*',
    'application/*, text/*, */*;q=0',
    'application/json;v=1;q=1, text/event-stream; v=1 ; q=0.5',
    `text/html;q=0, ${both}`,
    `${both}, text/html;q=0`,
  ])('%s accepts both JSON and event streams', async (accept) => {
    expect((await new TestHttp(service).post(initialize(), { accept })).status).toBe(200);
  });

  test.each([
    '',
    'application/json',
    'text/event-stream',
    'text/html',
    'application/*',
    'text/*',
    'application/json;q=0, text/event-stream',
    'application/json; v=1; q=0, text/event-stream',
    'application/json, text/event-stream;q=0, */*',
    'application/*;q=0, text/*, */*',
    '*/*;q=0',
    'x/application/json, text/event-stream',
  ])('%j is refused with 406, because it does not accept both', async (accept) => {
    expect((await new TestHttp(service).post(initialize(), { accept })).status).toBe(406);
  });
});
