import { isUtf8 } from 'node:buffer';
import * as fc from 'fast-check';
import { expect } from 'vitest';

type JsonObject = Record<string, any>;

/** The seed of all random inputs, printed so that a failure can be repeated: `FUZZ_SEED=1 npx vitest run test/faults`. */
export const seed = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 31);

/** How JSON-RPC and MCP classify a JSON text. */
export type Classified =
  /** Not JSON, or not UTF-8. */
  | { kind: 'parse error' }
  /** JSON, but not a message. It is answered with an error, unless it looks like a response. */
  | { kind: 'invalid'; silent: boolean }
  | { kind: 'request'; id: string | number; method: string }
  | { kind: 'notification' }
  | { kind: 'response' };

/** Classifies a text, independently of the code under test. Batches are invalid in all revisions but one. */
export function classify(text: Uint8Array): Classified {
  if (!isUtf8(text)) return { kind: 'parse error' };
  let value: any;
  try {
    value = JSON.parse(Buffer.from(text).toString());
  } catch {
    return { kind: 'parse error' };
  }
  // Its own limit: a text nested deeper is not a message.
  if (depthOf(value) > MAX_DEPTH) return { kind: 'invalid', silent: false };
  return classifyValue(value);
}

const MAX_DEPTH = 1000;

/** Nested values, without recursion. */
function depthOf(value: unknown): number {
  let depth = 0;
  let level = [value].filter((each) => typeof each === 'object' && each !== null);
  for (; level.length > 0; depth += 1) {
    level = level.flatMap((each) => Object.values(each)).filter((each) => typeof each === 'object' && each !== null);
  }
  return depth;
}

/** Classifies a parsed value. */
export function classifyValue(value: any): Classified {
  const object = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!object) return { kind: 'invalid', silent: false };
  const { jsonrpc, id, method, params, result, error } = value;
  const plain = (each: unknown): boolean => typeof each === 'object' && each !== null && !Array.isArray(each);
  const namesId = typeof id === 'string' || Number.isSafeInteger(id);
  const silent = method === undefined && ('result' in value || 'error' in value);
  const invalid: Classified = { kind: 'invalid', silent };
  if (jsonrpc !== '2.0') return invalid;
  if (method !== undefined) {
    if (typeof method !== 'string' || (params !== undefined && !plain(params))) return invalid;
    if (id === undefined) return { kind: 'notification' };
    return namesId ? { kind: 'request', id, method } : invalid;
  }
  const isError = plain(error) && Number.isInteger(error.code) && typeof error.message === 'string';
  // An error without an id: its sender could not read the id.
  if (id === null && isError) return { kind: 'response' };
  if ((result !== undefined) === (error !== undefined)) return invalid;
  if (result !== undefined) return namesId && plain(result) ? { kind: 'response' } : invalid;
  return isError && (id === undefined || namesId) ? { kind: 'response' } : invalid;
}

/** The class of each element of a batch. Undefined if the text is not a batch. */
export function classifyBatch(text: Uint8Array): Classified[] | undefined {
  if (classify(text).kind === 'parse error') return undefined;
  const value: unknown = JSON.parse(Buffer.from(text).toString());
  return Array.isArray(value) && depthOf(value) <= MAX_DEPTH ? value.map(classifyValue) : undefined;
}

/** The same texts, with new ids for requests that share an id, also within batches. */
export function withoutSharedIds(all: readonly Uint8Array[]): Uint8Array[] {
  const seen = new Set<string | number>();
  let count = 0;
  const fresh = (value: any): boolean => {
    const classified = classifyValue(value);
    if (classified.kind !== 'request') return false;
    // JSON loses the sign of negative zero.
    const shared = seen.has(classified.id) || classified.id === 0;
    if (shared) value.id = `fresh ${++count}`;
    seen.add(value.id);
    return shared;
  };
  return all.map((text) => {
    if (classify(text).kind === 'parse error') return text;
    const value: any = JSON.parse(Buffer.from(text).toString());
    const changed = Array.isArray(value) ? value.map(fresh).includes(true) : fresh(value);
    if (!changed) return text;
    try {
      return encode(value);
    } catch {
      // The text is nested too deep to be written again, so its id is replaced in the text.
      return Buffer.from(
        Buffer.from(text)
          .toString()
          .replace('"id":"deep"', `"id":${JSON.stringify(value.id)}`),
      );
    }
  });
}

const METHODS = [
  'ping',
  'initialize',
  'tools/list',
  'tools/call',
  'resources/list',
  'resources/read',
  'resources/templates/list',
  'resources/subscribe',
  'resources/unsubscribe',
  'prompts/list',
  'prompts/get',
  'completion/complete',
  'logging/setLevel',
  'server/discover',
  'subscriptions/listen',
  'notifications/initialized',
  'notifications/progress',
  'notifications/roots/list_changed',
  '__proto__',
  'constructor',
  '',
];

const json = fc.jsonValue({ maxDepth: 3 });

const params = fc.oneof(
  json,
  fc.record(
    {
      name: fc.oneof(fc.constantFrom('add', 'echo', 'greet', 'fail', '__proto__'), json),
      arguments: fc.oneof(fc.record({ a: json, b: json, text: json, name: json }, { requiredKeys: [] }), json),
      uri: fc.oneof(fc.constantFrom('feature://fixed', 'feature://item/%', 'feature://item/{id}', 'http://['), json),
      ref: fc.oneof(fc.record({ type: fc.constantFrom('ref/prompt', 'ref/resource'), name: json, uri: json }), json),
      argument: fc.oneof(fc.record({ name: json, value: json }), json),
      level: fc.oneof(fc.constantFrom('debug', 'loud'), json),
      cursor: json,
      progressToken: json,
      _meta: fc.oneof(fc.record({ progressToken: json }), json),
    },
    { requiredKeys: [] },
  ),
);

const id = fc.oneof(fc.string(), fc.integer(), fc.double(), fc.constantFrom(null, true, [], {}, 2 ** 53, -0));

/** A message in which any part may be wrong. */
const message = fc.record(
  {
    jsonrpc: fc.oneof({ weight: 9, arbitrary: fc.constant('2.0') }, { weight: 1, arbitrary: json }),
    id,
    method: fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...METHODS) }, { weight: 1, arbitrary: json }),
    params,
    result: json,
    error: fc.oneof(fc.record({ code: json, message: json }), json),
  },
  { requiredKeys: ['jsonrpc'] },
);

const encode = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

/** A valid message, cut off or with some bytes changed. This often breaks its UTF-8. */
const damaged = fc
  .tuple(
    message,
    fc.double({ min: 0, max: 1, noNaN: true }),
    fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 3 }),
  )
  .map(([value, kept, changes]) => {
    const text = Buffer.from(JSON.stringify({ ...value, text: 'ß→🙂' }));
    const bytes = changes.length > 0 ? text : text.subarray(0, Math.floor(kept * text.length));
    for (const [at, byte] of changes) bytes[at % bytes.length] = byte;
    return bytes;
  });

const deep = fc
  .tuple(fc.constantFrom('[', '{"a":'), fc.constantFrom(10, 1000, 90_000), fc.boolean(), fc.boolean())
  .map(([open, levels, closed, inside]) => {
    const nested = open.repeat(levels) + (closed ? '1' + (open === '[' ? ']' : '}').repeat(levels) : '');
    return Buffer.from(inside ? `{"jsonrpc":"2.0","id":"deep","method":"ping","params":{"a":${nested}}}` : nested);
  });

const huge = fc.constantFrom(1000, 100_000, 1_000_000).map((length) => {
  return encode({ jsonrpc: '2.0', id: 'huge', method: 'tools/call', params: { name: 'x'.repeat(length) } });
});

const KEY = /[\r\n]/;

/** Texts of all kinds, most of them invalid. They contain no line ends, so each can be sent as a line. */
export const texts: fc.Arbitrary<Uint8Array> = fc
  .oneof(
    { weight: 50, arbitrary: message.map(encode) },
    { weight: 20, arbitrary: damaged },
    { weight: 10, arbitrary: json.map(encode) },
    { weight: 10, arbitrary: fc.uint8Array({ minLength: 1, maxLength: 100 }) },
    { weight: 5, arbitrary: fc.array(message, { maxLength: 4 }).map(encode) },
    { weight: 5, arbitrary: fc.string({ minLength: 1 }).map((text) => Buffer.from(text)) },
    { weight: 1, arbitrary: deep },
    { weight: 1, arbitrary: huge },
  )
  .map((text) =>
    KEY.test(Buffer.from(text).toString('latin1'))
      ? text.map((byte) => (byte === 10 || byte === 13 ? 32 : byte))
      : text,
  );

/** Asserts that JSON-RPC and MCP allow this answer of a server. The id is never null. */
export function expectAnswer(answer: JsonObject): void {
  expect(answer).toMatchObject({ jsonrpc: '2.0' });
  if ('id' in answer) expect(typeof answer['id'] === 'string' || Number.isInteger(answer['id'])).toBe(true);
  if ('error' in answer) {
    expect(answer).not.toHaveProperty('result');
    expect(answer['error']).toMatchObject({ code: expect.any(Number), message: expect.any(String) });
    expect(Number.isInteger(answer['error'].code)).toBe(true);
  } else {
    expect(answer['result']).toBeTypeOf('object');
    expect(answer['result']).not.toBeNull();
    expect(answer).toHaveProperty('id');
  }
}
