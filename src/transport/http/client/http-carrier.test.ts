import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { closedPort, event, events, json, rawServer, scripted } from '../../../../test/support/http-server.ts';
import type { CarriedRequest, Carrier } from '../../carrier.ts';
import { certainlyNotExecuted } from '../../../jsonrpc/error-chain.ts';
import { AnswerLost, HttpStatusError } from './errors.ts';
import { httpCarrier, type HttpCarrierOptions } from './http-carrier.ts';
import { NotSent } from './http.ts';
import { Lifetime } from '../../../base/lifetime.ts';

function open(url: URL, options?: HttpCarrierOptions): { carrier: Carrier; errors: Error[] } {
  const errors: Error[] = [];
  const carrier = httpCarrier(url, { onerror: (error) => void errors.push(error), ...options });
  onTestFinished(() => carrier.close());
  return { carrier, errors };
}

const call = (changes: Partial<CarriedRequest> = {}): CarriedRequest => ({
  method: 'tools/call',
  params: { name: 'add' },
  lifetime: new Lifetime(),
  onnotification: () => {},
  ...changes,
});
const answer = (id: unknown, result: object = {}) => ({ jsonrpc: '2.0', id, result });
const thrownBy = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.unreachable(),
    (error: unknown) => error as any,
  );

describe('a request of a revision without sessions', () => {
  test('is a POST with the headers of 2026-07-28', async () => {
    const server = await scripted(({ body }, response) => json(response, answer(body.id, { content: [] })));
    const { carrier } = open(server.url, { headers: { 'X-Api-Key': 'key', Accept: 'nothing' } });
    const headers = { 'mcp-method': 'tools/call', 'mcp-protocol-version': '2026-07-28' };
    expect(await carrier.request(call({ headers }))).toMatchObject({ result: { content: [] } });
    const [asked] = server.asked;
    expect(asked).toMatchObject({ method: 'POST', body: { method: 'tools/call', params: { name: 'add' } } });
    expect(asked!.headers).toMatchObject({
      ...headers,
      'x-api-key': 'key',
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    });
    expect(asked!.headers['mcp-session-id']).toBeUndefined();
  });

  test('is answered on an event stream, after its notifications', async () => {
    const { url } = await scripted(({ body }, response) => {
      const progressNotice = { jsonrpc: '2.0', method: 'notifications/progress', params: { progress: 1 } };
      events(
        response,
        ': hello\n\n',
        event(progressNotice),
        'event: other\ndata: {}\n\n',
        event(answer(body.id)),
      ).end();
    });
    const onnotification = vi.fn<CarriedRequest['onnotification']>();
    const { carrier, errors } = open(url);
    expect(await carrier.request(call({ onnotification }))).toHaveProperty('result');
    expect(onnotification.mock.calls).toEqual([[expect.objectContaining({ method: 'notifications/progress' })]]);
    expect(errors).toEqual([]);
  });

  test('fails with the error in the body, whatever the status', async () => {
    const error = { code: -32020, message: 'Header mismatch' };
    const { url } = await scripted(({ body }, response) => json(response, { jsonrpc: '2.0', id: body.id, error }, 400));
    expect(await open(url).carrier.request(call())).toMatchObject({ error });
    const unnamed = await scripted((_asked, response) => json(response, { jsonrpc: '2.0', id: null, error }, 404));
    expect(await open(unnamed.url).carrier.request(call())).toMatchObject({ id: expect.anything(), error });
  });

  test('fails with the status if the body has no such error', async () => {
    for (const body of ['<html>', '{}', '', '{"error":"no"}']) {
      const { url } = await scripted((_asked, response) => {
        response.writeHead(404, { 'content-type': 'application/json' }).end(body);
      });
      const error = await thrownBy(open(url).carrier.request(call()));
      expect(error).toBeInstanceOf(HttpStatusError);
      expect(error).toMatchObject({ status: 404, message: expect.stringContaining('status 404') });
    }
  });

  test.each([401, 403, 429, 503])(
    'that is refused with %d fails with the status, whatever the body contains',
    async (status) => {
      const error = { code: -32000, message: 'not you' };
      const { url } = await scripted(({ body }, response) =>
        json(response, { jsonrpc: '2.0', id: body.id, error }, status),
      );
      const thrown = await thrownBy(open(url).carrier.request(call()));
      expect(thrown).toBeInstanceOf(HttpStatusError);
      expect(thrown).toMatchObject({ status, response: { error }, message: expect.stringContaining('not you') });
    },
  );

  test('is cancelled by closing its response', async () => {
    let closed: () => void;
    const gone = new Promise<void>((resolve) => (closed = resolve));
    const { url } = await scripted((_asked, response) => {
      response.on('close', () => closed());
      events(response, event({ jsonrpc: '2.0', method: 'notifications/begun' }));
    });
    const lifetime = new Lifetime();
    const { carrier } = open(url);
    const reason = new Error('enough');
    const onnotification = (): void => lifetime.abort(reason);
    await expect(carrier.request(call({ lifetime, onnotification }))).rejects.toBe(reason);
    await gone;
    await expect(carrier.request(call({ lifetime }))).rejects.toBe(reason);
  });

  test('leaves no stream open after its response is closed', async () => {
    let closed: () => void;
    const gone = new Promise<void>((resolve) => (closed = resolve));
    const { url } = await scripted(({ body }, response) => {
      response.on('close', () => closed());
      events(response, event({ jsonrpc: '2.0', id: body.id, result: {} }));
    });
    const { carrier } = open(url);
    // The server has a second to end the stream itself. Here, that time does not pass.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    await carrier.request(call());
    await carrier.close();
    await gone;
  });

  test('fails at once if the stream ends or its connection is lost before the response', async () => {
    const ended = await scripted((_asked, response) => void events(response, ': nothing\n\n').end());
    await expect(open(ended.url).carrier.request(call())).rejects.toThrow(/ended the stream without a response/);
    const broken = await rawServer((socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n');
        setImmediate(() => socket.resetAndDestroy());
      });
    });
    await expect(open(broken).carrier.request(call())).rejects.toThrow(AnswerLost);
  });

  test('fails if the stream is silent, but comments count as data', async () => {
    const { url } = await scripted(({ body }, response) => {
      events(response);
      if (body.params.silent) return;
      let comments = 0;
      const timer = setInterval(() => {
        response.write(': alive\n\n');
        if (++comments < 25) return;
        clearInterval(timer);
        response.end(event(answer(body.id)));
      }, 50);
    });
    const { carrier } = open(url, { idleTimeout: 1000 });
    expect(await carrier.request(call())).toHaveProperty('result');
    await expect(carrier.request(call({ params: { silent: true } }))).rejects.toThrow('The server has sent nothing');
  });

  test.each<[string, (body: any) => string, string]>([
    ['a response with another id', () => JSON.stringify(answer(12345)), 'not a response to the request'],
    ['a batch', ({ id }) => JSON.stringify([answer(id)]), 'sent an invalid response'],
    ['not JSON', () => 'oops', 'not valid JSON'],
    ['a request', ({ id }) => JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' }), 'not a response to the request'],
  ])('fails if the body is %s', async (_what, body, why) => {
    const { url } = await scripted((asked, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(body(asked.body));
    });
    await expect(open(url).carrier.request(call())).rejects.toThrow(why);
  });

  test('is not answered by a response to another request, nor by a request from the server', async () => {
    const { url } = await scripted(({ body }, response) => {
      const question = { jsonrpc: '2.0', id: body.id, method: 'sampling/createMessage' };
      events(response, event(answer('\u009b')), event(question), 'data: oops\n\n', event(answer(body.id, { mine: 1 })));
    });
    const { carrier, errors } = open(url);
    expect(await carrier.request(call())).toMatchObject({ result: { mine: 1 } });
    expect(errors.map(({ message }) => message)).toEqual([
      expect.stringContaining('"\\u009b"'),
      expect.stringContaining('sampling/createMessage'),
      expect.stringContaining('not valid JSON'),
    ]);
  });

  test('fails if the response is malformed', async () => {
    const { url } = await scripted((_asked, response) => void response.writeHead(202).end());
    const error = await thrownBy(open(url).carrier.request(call()));
    expect(error).toMatchObject({ status: 202, message: expect.stringContaining('there is no JSON body') });
  });

  test('fails if the response is above the size limit', async () => {
    const { url } = await scripted(({ body }, response) => {
      const large = answer(body.id, { text: 'x'.repeat(5000) });
      if (body.params.stream) events(response, event(large));
      else json(response, large);
    });
    const { carrier } = open(url, { maxMessageBytes: 1000 });
    await expect(carrier.request(call())).rejects.toThrow(/larger than 1000/);
    await expect(carrier.request(call({ params: { stream: true } }))).rejects.toThrow(/larger than 1000/);
  });

  test('has an error that says so if it was certainly not sent', async () => {
    const error = await thrownBy(open(await closedPort()).carrier.request(call()));
    expect(error).toBeInstanceOf(NotSent);
    expect(certainlyNotExecuted(new Error('wrapped', { cause: error }))).toBe(true);
  });

  test('ends with its carrier', async () => {
    const { url } = await scripted((_asked, response) => void events(response));
    const { carrier } = open(url);
    const onclose = vi.fn<() => void>();
    carrier.onclose = onclose;
    const waiting = [carrier.request(call()), carrier.request(call())].map(thrownBy);
    await carrier.close();
    await carrier.close();
    for (const error of await Promise.all(waiting))
      expect(error).toMatchObject({ message: 'The connection was closed' });
    expect(carrier.closed).toBe(true);
    expect(onclose).toHaveBeenCalledTimes(1);
    await expect(carrier.request(call())).rejects.toThrow('closed');
  });
});
