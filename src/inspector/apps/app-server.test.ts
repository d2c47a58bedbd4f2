import { once } from 'node:events';
import { request, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { connect, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { AppReports } from '../../inspect/page-server/apps-api.ts';
import { AppServer } from './app-server.ts';

const PAGE = 'http://127.0.0.1:6274';
const FRAME = { 'sec-fetch-dest': 'iframe' };

async function listening(): Promise<AppServer> {
  const server = await AppServer.listen();
  onTestFinished(() => server.stop());
  server.embedIn(PAGE);
  return server;
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

/** Requests a URL of an app from loopback, as a browser that resolves its name does. */
async function get(
  url: string,
  { headers = FRAME, method = 'GET', body }: { headers?: OutgoingHttpHeaders; method?: string; body?: string } = {},
): Promise<Answer> {
  const { host, port, pathname } = new URL(url);
  const sent = request({ host: '127.0.0.1', port, path: pathname, method, headers: { host, ...headers } });
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.setEncoding('utf8');
  let text = '';
  for await (const chunk of response) text += chunk;
  return { status: response.statusCode!, headers: response.headers, text };
}

describe('the server of apps', () => {
  test('serves the document as it is, with its policy, in a frame of its own origin', async () => {
    const server = await listening();
    const { url, policy } = server.serve('a', { uri: 'ui://a', html: '<p>ä' });
    expect(url).toMatch(/^http:\/\/[0-9a-f]{32}\.localhost:\d+\/[\w-]{22}\/$/);
    const { origin, pathname } = new URL(url);
    const view = await get(`${url}view`);
    expect(view.status).toBe(200);
    expect(view.text).toBe('<p>ä');
    expect(view.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(view.headers['content-security-policy']).toBe(policy.header);
    expect(policy.header).toContain(`frame-ancestors ${origin} ${PAGE};`);
    expect(policy.header).toContain(`report-uri ${pathname}report`);
    const frame = await get(url);
    expect(frame.text).toContain('<iframe');
    expect(frame.headers['content-security-policy']).toContain(`frame-src ${origin}; `);
    expect(frame.headers['content-security-policy']).toContain(`frame-ancestors ${PAGE};`);
  });

  test('each server has an origin of its own, and keeps it', async () => {
    const server = await listening();
    const originOf = (from: string): string => new URL(server.serve(from, { uri: 'ui://a', html: '' }).url).origin;
    const first = originOf('a');
    expect(originOf('a')).toBe(first);
    expect(originOf('b')).not.toBe(first);
  });

  test('answers only frames, by the exact host of the app, and never without a policy', async () => {
    const server = await listening();
    const { url } = server.serve('a', { uri: 'ui://a', html: 'secret' });
    const other = server.serve('b', { uri: 'ui://b', html: '' });
    const { port, pathname, origin, host } = new URL(url);
    const cases: readonly (readonly [number, Promise<Answer>])[] = [
      [404, get(url, { headers: { ...FRAME, host: `127.0.0.1:${port}` } })],
      [404, get(url, { headers: { ...FRAME, host: `localhost:${port}` } })],
      [404, get(url, { headers: { ...FRAME, host: `evil.example:${port}` } })],
      [404, get(url, { headers: { ...FRAME, host: host.toUpperCase() } })],
      [404, get(new URL(pathname, other.url).href)],
      [404, get(`${origin}/`)],
      [404, get(`${origin}/${'x'.repeat(22)}/view`)],
      [404, get(`${url}other`)],
      [404, get(`${url}view?x`.replace('?x', '/'))],
      [403, get(`${url}view`, { headers: {} })],
      [403, get(`${url}view`, { headers: { 'sec-fetch-dest': 'document' } })],
      [403, get(`${url}view`, { headers: { 'sec-fetch-dest': 'empty' } })],
      [405, get(`${url}view`, { method: 'POST' })],
      [405, get(`${url}report`)],
    ];
    for (const [status, answer] of cases) {
      const { status: got, text, headers } = await answer;
      expect([got, text]).toEqual([status, '']);
      expect(headers['content-security-policy']).toMatch(/^default-src 'none';.* sandbox$/);
      expect(headers['x-content-type-options']).toBe('nosniff');
    }
  });

  test('what was closed, or is the oldest of more than 16, is no longer served', async () => {
    const server = await listening();
    const closed: number[] = [];
    server.onclose = (id) => closed.push(id);
    const first = server.serve('a', { uri: 'ui://a', html: '' });
    const second = server.serve('a', { uri: 'ui://a', html: '' });
    server.close(second.id);
    server.close(second.id);
    expect((await get(second.url)).status).toBe(404);
    for (let at = 0; at < 15; at += 1) server.serve('a', { uri: 'ui://a', html: '' });
    expect((await get(first.url)).status).toBe(200);
    server.serve('a', { uri: 'ui://a', html: '' });
    expect((await get(first.url)).status).toBe(404);
    expect(closed).toEqual([second.id, first.id]);
  });

  test('counts what browsers report, within limits', async () => {
    const server = await listening();
    const reports: AppReports[] = [];
    server.onreports = (each) => reports.push(each);
    const { url, id } = server.serve('a', { uri: 'ui://a', html: '' });
    const report = (body: string): Promise<Answer> => get(`${url}report`, { method: 'POST', body, headers: {} });
    const about = (directive: unknown, blocked: unknown): string =>
      JSON.stringify({ 'csp-report': { 'effective-directive': directive, 'blocked-uri': blocked } });
    expect((await report(about('connect-src', 'https://a.example/'))).status).toBe(204);
    await report(about('connect-src', 'https://a.example/'));
    expect(reports.at(-1)).toEqual({
      id,
      violations: [{ directive: 'connect-src', blocked: 'https://a.example/', count: 2 }],
      hasMore: false,
    });
    for (const body of ['x', '[]', '{}', about(1, 'x'), about('x', undefined)]) await report(body);
    expect(reports).toHaveLength(2);
    expect((await report(about('x', 'y'.repeat(20_000)))).status).toBe(413);
    await report(about('x', 'y'.repeat(5000)));
    expect(reports.at(-1)!.violations.at(-1)!.blocked).toHaveLength(500);
    for (let at = 0; at < 60; at += 1) await report(about('img-src', `https://a.example/${at}`));
    expect(reports.at(-1)).toMatchObject({ hasMore: true });
    expect(reports.at(-1)!.violations).toHaveLength(50);
  });
});

test('connections that have asked for no app are limited, and one that has stays open', async () => {
  const server = await listening();
  const { url } = server.serve('a', { uri: 'ui://a', html: '' });
  const { port, host, pathname } = new URL(url);
  const open = (): Socket => {
    const socket = connect(Number(port), '127.0.0.1').on('error', () => {});
    onTestFinished(() => void socket.destroy());
    return socket;
  };
  const app = open();
  app.write(`GET ${pathname} HTTP/1.1\r\nhost: ${host}\r\nsec-fetch-dest: iframe\r\n\r\n`);
  const [head] = (await once(app, 'data')) as [Buffer];
  expect(head.toString()).toContain('HTTP/1.1 200');
  let closed = 0;
  const sockets = Array.from({ length: 200 }, () => open().on('close', () => (closed += 1)));
  await expect.poll(() => closed, { timeout: 30_000 }).toBe(72);
  expect(sockets.slice(72).every(({ destroyed }) => !destroyed)).toBe(true);
  expect(app.destroyed).toBe(false);
});
