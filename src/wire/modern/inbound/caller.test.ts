import { describe, expect, test } from 'vitest';
import { meta, MODERN } from '../../../../test/support/modern.ts';
import type { Caller } from '../../../core/exchange.ts';
import type { JsonObject, Request } from '../../../jsonrpc/message.ts';
import type { MessageExtra } from '../../../transport/transport.ts';
import { readCaller } from './caller.ts';
import { Refusal } from '../../../core/refusal.ts';

const PREFIX = 'io.modelcontextprotocol/';
const SUPPORTED = [MODERN, '2025-11-25'];

const request = (params?: JsonObject, method = 'tools/list'): Request =>
  params ? { jsonrpc: '2.0', id: 1, method, params } : { jsonrpc: '2.0', id: 1, method };

const read = (message: Request, extra?: MessageExtra, supported = SUPPORTED): Caller =>
  readCaller(message, extra, supported);

/** The error with which a message is refused. */
function refusal(message: Request, extra?: MessageExtra, supported?: string[]): JsonObject {
  try {
    read(message, extra, supported);
  } catch (error) {
    if (error instanceof Refusal) return error.toObject();
    throw error;
  }
  throw new Error('it was not refused');
}

/** `_meta` with one field changed or removed. */
function saying(field: string, value: unknown): Request {
  const metaFields = meta();
  if (value === undefined) delete metaFields[PREFIX + field];
  else metaFields[PREFIX + field] = value;
  return request({ _meta: metaFields });
}

describe('a caller', () => {
  test('is described by its request and the transport', () => {
    const auth = { principal: 'ada', scopes: ['a'] };
    const metaFields = meta({ roots: {} }, { [`${PREFIX}logLevel`]: 'warning' });
    const caller = read(request({ _meta: metaFields }), { principal: 'ada', auth });
    expect({ ...caller }).toEqual({
      revision: MODERN,
      clientInfo: { name: 'test', version: '1' },
      capabilities: { roots: {} },
      logLevel: 'warning',
      principal: 'ada',
      auth,
    });
    expect(caller.session).toBeUndefined();
  });

  test('does not have to give its name and its log level', () => {
    const metaFields = { [`${PREFIX}protocolVersion`]: MODERN, [`${PREFIX}clientCapabilities`]: {} };
    const { clientInfo, logLevel, principal } = read(request({ _meta: metaFields }));
    expect([clientInfo, logLevel, principal]).toEqual([undefined, undefined, undefined]);
  });

  test('cannot claim a principal', () => {
    const metaFields = meta({}, { principal: 'root', auth: { principal: 'root' }, session: 'x' });
    const { principal, auth, session } = read(request({ _meta: metaFields, principal: 'root' }));
    expect([principal, auth, session]).toEqual([undefined, undefined, undefined]);
  });
});

describe('a request is malformed', () => {
  test.each([undefined, {}, { _meta: null }, { _meta: [] }, { _meta: 'x' }, { _meta: {} }])(
    'if its params are %j',
    (params) => {
      expect(refusal(request(params)).code).toBe(-32602);
    },
  );

  test.each([
    ['protocolVersion', undefined],
    ['protocolVersion', null],
    ['protocolVersion', 20260728],
    ['protocolVersion', [MODERN]],
    ['clientCapabilities', undefined],
    ['clientCapabilities', null],
    ['clientCapabilities', []],
    ['clientCapabilities', true],
    ['clientInfo', null],
    ['clientInfo', {}],
    ['clientInfo', { name: 'a' }],
    ['clientInfo', { name: 1, version: '1' }],
    ['clientInfo', []],
    ['logLevel', null],
    ['logLevel', 'loud'],
    ['logLevel', 'Debug'],
    ['logLevel', 7],
    ['logLevel', '__proto__'],
  ])('if its %s is %j, and the error says why', (field, value) => {
    const { code, message } = refusal(saying(field, value));
    expect(code).toBe(-32602);
    expect(message).toContain(PREFIX + field);
  });
});

describe('the information of a client about itself', () => {
  const LIMIT = 32 * 1024;
  const describing = (capabilities: JsonObject, clientInfo: JsonObject = { name: 'a', version: '1' }): Request =>
    request({ _meta: meta(capabilities, { [`${PREFIX}clientInfo`]: clientInfo }) });
  const keys = (count: number): JsonObject => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, 0]));
  const deep = (levels: number): JsonObject => JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`);

  test.each<[string, Request]>([
    ['one long capability', describing({ experimental: { x: 'x'.repeat(LIMIT) } })],
    ['many capabilities', describing(keys(10_000))],
    ['capabilities that are nested too deep', describing(deep(50_000))],
    ['a long name', describing({}, { name: 'x'.repeat(LIMIT), version: '1' })],
    ['long icons', describing({}, { name: 'a', version: '1', icons: ['x'.repeat(LIMIT)] })],
  ])('is refused with %s', (_, message) => {
    expect(refusal(message)).toMatchObject({ code: -32602, message: expect.stringContaining('larger than 32768') });
  });

  test('is refused in a notification too', () => {
    const params = { _meta: meta(keys(10_000)) };
    const note = { jsonrpc: '2.0', method: 'notifications/odd', params } as const;
    expect(() => readCaller(note, undefined, SUPPORTED)).toThrow('larger than 32768');
  });

  test('is accepted up to the limit', () => {
    const capabilities = { experimental: { x: 'x'.repeat(LIMIT - 1000) } };
    expect(read(describing(capabilities)).capabilities).toEqual(capabilities);
  });
});

describe('a revision', () => {
  test.each(['2025-11-25', '2024-11-05', '2099-01-01', '', '__proto__', 'constructor', `${MODERN} `])(
    '%j is unknown, and the error names the supported ones',
    (requested) => {
      expect(refusal(saying('protocolVersion', requested))).toEqual({
        code: -32022,
        message: expect.any(String),
        data: { supported: SUPPORTED, requested },
      });
    },
  );

  test('that is known but not served is also refused', () => {
    expect(refusal(request({ _meta: meta() }), undefined, ['2025-11-25']).code).toBe(-32022);
  });
});

describe('over HTTP', () => {
  const over = (headers: Record<string, string>): MessageExtra => ({ header: (name) => headers[name] });
  const good = { 'mcp-protocol-version': MODERN, 'mcp-method': 'tools/list' };

  test('headers that match the body are accepted', () => {
    expect(read(request({ _meta: meta() }), over(good)).revision).toBe(MODERN);
  });

  test.each([
    ['no revision', { 'mcp-method': 'tools/list' }],
    ['another revision', { ...good, 'mcp-protocol-version': '2025-11-25' }],
    ['the revision twice', { ...good, 'mcp-protocol-version': `${MODERN}, ${MODERN}` }],
    ['no method', { 'mcp-protocol-version': MODERN }],
    ['another method', { ...good, 'mcp-method': 'tools/call' }],
  ])('a request with %s in the headers gets −32020', (_, headers) => {
    expect(refusal(request({ _meta: meta() }), over(headers)).code).toBe(-32020);
  });

  test('a mismatch is checked before the revision, because proxies route by the header', () => {
    const message = saying('protocolVersion', '2099-01-01');
    expect(refusal(message, over(good)).code).toBe(-32020);
    expect(refusal(message, over({ ...good, 'mcp-protocol-version': '2099-01-01' })).code).toBe(-32022);
  });

  test('a message without a revision is refused because of the revision in its header, if that is not served', () => {
    for (const message of [request({}), request({ _meta: {} })]) {
      expect(refusal(message, over({ 'mcp-protocol-version': '2025-11-25' }))).toMatchObject({
        code: -32022,
        data: { supported: SUPPORTED, requested: '2025-11-25' },
      });
      for (const headers of [good, {}]) expect(refusal(message, over(headers)).code).toBe(-32602);
    }
  });

  test('a notification needs only the revision header', () => {
    const note = { jsonrpc: '2.0', method: 'notifications/odd', params: { _meta: meta() } } as const;
    expect(readCaller(note, over({ 'mcp-protocol-version': MODERN }), SUPPORTED).revision).toBe(MODERN);
    expect(() => readCaller(note, over({}), SUPPORTED)).toThrow(Refusal);
  });
});
