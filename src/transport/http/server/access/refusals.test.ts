import { expect, test } from 'vitest';
import { initialize, TestHttp } from '../../../../../test/support/http.ts';
import { ModernHttp } from '../../../../../test/support/modern.ts';
import { deferred, scripted } from '../../../../../test/support/service.ts';
import { apiKeyAuth } from '../../../../auth/api-key.ts';
import type { HttpRefusal } from '../call.ts';
import type { HttpHandlerOptions } from '../handler.ts';

/** A handler, and the refusals that it reports. */
function reporting(options: Partial<HttpHandlerOptions> = {}): { http: TestHttp; refusals: HttpRefusal[] } {
  const refusals: HttpRefusal[] = [];
  const onrefusal = (refusal: HttpRefusal): void => void refusals.push(refusal);
  return { http: new TestHttp(scripted().service, { ...options, onrefusal }), refusals };
}

test('a session above the limit is reported', async () => {
  const { http, refusals } = reporting({ maxSessions: 1 });
  await http.open();
  expect(refusals).toEqual([]);
  expect((await http.post(initialize())).status).toBe(503);
  expect((await http.send('GET', '/sse', { accept: 'text/event-stream' })).status).toBe(503);
  const tooMany = { reason: 'too_many_sessions', status: 503 };
  expect(refusals).toEqual([tooMany, tooMany]);
});

test('a caller without a credential and a caller without a required scope are reported', async () => {
  const auth = apiKeyAuth({ keys: { 'a-key-of-some-length': 'ada' } });
  const { http, refusals } = reporting({ auth, scopesFor: () => ['admin'] });
  expect((await http.post(initialize())).status).toBe(401);
  expect((await http.post(initialize(), { 'x-api-key': 'a-key-of-some-length' })).status).toBe(403);
  expect(refusals).toEqual([
    { reason: 'credential', status: 401 },
    { reason: 'scope', status: 403, principal: 'ada', method: 'initialize', scopes: ['admin'] },
  ]);
});

test('a credential that cannot be checked is reported', async () => {
  const authenticate = () => Promise.reject(new Error('no way to the issuer'));
  const auth = { authenticate, authorize: () => undefined, metadata: () => undefined };
  const { http, refusals } = reporting({ auth });
  expect((await http.post(initialize())).status).toBe(503);
  expect(refusals).toEqual([{ reason: 'credential_unchecked', status: 503 }]);
});

test('a forbidden Host and a forbidden Origin are reported', async () => {
  const { http, refusals } = reporting();
  await http.post(initialize(), { host: 'elsewhere.example' });
  await http.post(initialize(), { origin: 'https://elsewhere.example' });
  await http.post(initialize(), { host: 'x'.repeat(1000) });
  expect(refusals).toEqual([
    { reason: 'host', status: 403, value: 'elsewhere.example' },
    { reason: 'origin', status: 403, value: 'https://elsewhere.example' },
    { reason: 'host', status: 403, value: 'x'.repeat(100) },
  ]);
});

test('a body that is too large, a shutdown and a malformed request are reported', async () => {
  const { http, refusals } = reporting({ maxBodyBytes: 1000 });
  await http.post('x'.repeat(1001));
  await http.post('{');
  await http.send('GET', '/nowhere');
  http.handler.drain();
  await http.post(initialize());
  expect(refusals).toEqual([
    { reason: 'body_size', status: 413 },
    { reason: 'malformed', status: 400 },
    { reason: 'malformed', status: 404 },
    { reason: 'shutting_down', status: 503 },
  ]);
});

test('a request refused for lack of memory and a response that is cut off are reported', async () => {
  const refusals: HttpRefusal[] = [];
  const onrefusal = (refusal: HttpRefusal): void => void refusals.push(refusal);
  const big = () => ({ filler: 'x'.repeat(200_000) });
  const http = new ModernHttp(scripted({ big }).service, {}, { maxBufferedBytes: 400_000, onrefusal });
  await http.call('echo', { filler: 'x'.repeat(200_000) });
  expect(refusals).toEqual([{ reason: 'memory', status: 503 }]);
  await http.call('big');
  await http.call('big');
  expect(refusals.slice(1)).toEqual([{ reason: 'unread', status: undefined }]);
});

test('a request above the limit is reported', async () => {
  const refusals: HttpRefusal[] = [];
  const onrefusal = (refusal: HttpRefusal): void => void refusals.push(refusal);
  const done = deferred();
  const { service } = scripted({ work: () => done.promise.then(() => ({})) });
  const http = new ModernHttp(service, {}, { maxRequests: 1, onrefusal });
  const first = http.call('work');
  expect((await http.call('work')).status).toBe(503);
  expect(refusals).toEqual([{ reason: 'too_many_requests', status: 503 }]);
  done.resolve();
  await first;
});

test('an onrefusal callback that throws is reported, and the client still gets its response', async () => {
  const thrown = new Error('the log is full');
  const errors: Error[] = [];
  const onrefusal = (): void => {
    throw thrown;
  };
  const auth = apiKeyAuth({ keys: { 'a-key-of-some-length': 'ada' } });
  const options = { auth, onrefusal, onerror: (error: Error) => void errors.push(error) };
  const http = new TestHttp(scripted().service, options);
  expect((await http.post(initialize())).status).toBe(401);
  expect((await http.post(initialize(), { host: 'elsewhere.example' })).status).toBe(403);
  expect(errors).toEqual([thrown, thrown]);
});
