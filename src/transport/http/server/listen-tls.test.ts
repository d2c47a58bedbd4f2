import { request } from 'node:https';
import { connect as connectPlain } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { once } from 'node:events';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { canCertify, certificate, type Certificate } from '../../../../test/support/certificate.ts';
import { listen, type HttpListener, type ListenOptions } from './listen.ts';

const first = canCertify ? certificate('first') : { cert: '', key: '' };
const second = canCertify ? certificate('second') : first;

async function listening(options: Partial<ListenOptions> = {}): Promise<HttpListener> {
  const pages = (path: string) => ({
    answer: (call: Parameters<HttpListener['handler']['handle']>[0]) => call.respond(200, {}, path),
  });
  const listener = await listen({ port: 0, tls: first, onsession: () => {}, pages, ...options });
  onTestFinished(() => listener.close(0));
  return listener;
}

/** The response at a path, and the subject of the certificate. */
function get(url: string, { cert }: Certificate): Promise<{ body: string; subject: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { ca: cert, agent: false }, (response) => {
      const subject = (response.socket as TLSSocket).getPeerCertificate().subject.CN;
      let body = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
      response.on('end', () => resolve({ body, subject: String(subject) }));
    });
    sent.on('error', reject).end();
  });
}

describe.skipIf(!canCertify)('a listener with a certificate', () => {
  test('serves HTTPS, with https URLs', async () => {
    const { url, sseUrl, port } = await listening();
    expect(url).toBe(`https://127.0.0.1:${port}/mcp`);
    expect(sseUrl).toBe(`https://127.0.0.1:${port}/sse`);
    expect(await get(url, first)).toEqual({ body: '/mcp', subject: 'first' });
  });

  test('shows a renewed certificate to new connections, and keeps the earlier one if the new one is invalid', async () => {
    const listener = await listening();
    listener.renewTls(second);
    expect((await get(listener.url, second)).subject).toBe('second');
    expect(() => listener.renewTls({ cert: second.cert, key: first.key })).toThrow(/key/i);
    expect((await get(listener.url, second)).subject).toBe('second');
  });

  test('does not start with an invalid certificate, or with the wrong key', async () => {
    await expect(listen({ port: 0, onsession: () => {}, tls: { cert: 'none', key: 'none' } })).rejects.toThrow(
      /^the certificate and the key cannot be used: /,
    );
    await expect(listen({ port: 0, onsession: () => {}, tls: { cert: first.cert, key: second.key } })).rejects.toThrow(
      /^the certificate and the key cannot be used: /,
    );
  });

  test('closes at once, even if connections are idle or silent during the handshake', async () => {
    const listener = await listening();
    const idle = connect({ port: listener.port, ca: first.cert, host: '127.0.0.1' });
    await once(idle, 'secureConnect');
    const silent = connectPlain(listener.port, '127.0.0.1');
    await once(silent, 'connect');
    silent.on('error', () => {});
    idle.on('error', () => {});
    // A later request shows that the server has accepted the silent connection.
    await get(listener.url, first);
    const gone = Promise.all([once(idle, 'close'), once(silent, 'close')]);
    await listener.close(60_000);
    await gone;
  });

  test('serves a connection whose handshake has not ended when it begins to stop', async () => {
    const listener = await listening();
    const plain = connectPlain(listener.port, '127.0.0.1');
    await once(plain, 'connect');
    // A later request shows that the server has accepted it.
    await get(listener.url, first);
    const closed = listener.close();
    const socket = connect({ socket: plain, ca: first.cert });
    onTestFinished(() => void socket.destroy());
    socket.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n');
    let received = '';
    socket.setEncoding('latin1').on('data', (text: string) => (received += text));
    await once(socket, 'close');
    expect(received).toMatch(/^HTTP\/1\.1 200 OK\r\n(?:.*\r\n)*connection: close\r\n/);
    await closed;
  });

  test('closes a connection whose handshake takes more than 15 seconds, even if bytes still come', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const listener = await listening();
    const slow = connectPlain(listener.port, '127.0.0.1').resume();
    onTestFinished(() => void slow.destroy());
    slow.on('error', () => {});
    const gone = once(slow, 'close');
    // The beginning of a handshake of 16 KiB.
    slow.write(Buffer.from([0x16, 3, 1, 0x40, 0, 1, 0, 0x3f, 0xfc]));
    await get(listener.url, first);
    vi.advanceTimersByTime(14_000);
    slow.write(Buffer.from([3, 3]));
    await get(listener.url, first);
    expect(slow.closed).toBe(false);
    vi.advanceTimersByTime(2000);
    await gone;
  });

  test('does not answer a client that does not use TLS', async () => {
    const { port } = await listening();
    await expect(fetch(`http://127.0.0.1:${port}/mcp`)).rejects.toThrow('fetch failed');
  });
});

test('a listener without a certificate cannot renew one', async () => {
  const listener = await listening({ tls: undefined });
  expect(() => listener.renewTls(first)).toThrow('plain HTTP');
});
