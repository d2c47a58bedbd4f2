import { PassThrough } from 'node:stream';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  connect,
  ConnectionError,
  ErrorCode,
  RpcError,
  type Client,
  type ClientOptions,
  type ClientTransport,
} from 'everwire/client';
import { McpServer } from 'everwire/server';
import { streamTransport } from 'everwire/stdio';
import { Tamper, type Direction, type End } from '../support/tamper.ts';

/**
 * Cuts the connection after each byte of an exchange. The call then gets its response or fails because of the lost
 * connection. A call that writes runs at most once, and not at all if the error says so. A call that only reads gets
 * its response with the second attempt. The next call works.
 */

// Each test makes some thousand calls, and the machine may be busy.
vi.setConfig({ testTimeout: 120_000 });

/** A server that counts how often each call of its tool has run. */
function counting() {
  const runs = new Map<string, number>();
  const server = new McpServer({ name: 'counting', version: '1.0.0', onerror: () => {} });
  const count = (key: string): string => {
    runs.set(key, (runs.get(key) ?? 0) + 1);
    return key;
  };
  const input = { type: 'object', properties: { key: { type: 'string' } }, required: ['key'] } as const;
  server.tool('write', { input }, ({ key }) => count(key));
  server.resource('note:one', { name: 'note' }, () => count('read'));
  return { server, runs };
}

type Counting = ReturnType<typeof counting>;

async function clientOf(target: string | (() => ClientTransport), options: ClientOptions): Promise<Client> {
  const client = await connect(target, { cache: false, timeout: 5000, onerror: () => {}, ...options });
  onTestFinished(() => client.close());
  return client;
}

/** Calls the tool. Returns the error, if there was one. */
const written = (client: Client, key: string): Promise<Error | undefined> =>
  client.callTool('write', { key }).then(
    ({ content: [block] }) =>
      block?.type === 'text' && block.text === key ? undefined : new Error('the answer to another call'),
    (error: Error) => error,
  );

/** The allowed outcomes of a call over a connection that was cut. */
function isAllowed(outcome: Error | undefined, times: number): boolean {
  if (outcome === undefined) return times === 1;
  // A server that reads half a line at the end of its input answers with a parse error.
  if (outcome instanceof RpcError) return outcome.code === ErrorCode.ParseError && times === 0;
  return outcome instanceof ConnectionError && times <= (outcome.notExecuted ? 0 : 1);
}

function classify(outcome: Error | undefined, key: string, runs: Counting['runs']): void {
  const times = runs.get(key) ?? 0;
  expect(isAllowed(outcome, times), `${key} ran ${times} times: ${outcome?.message}`).toBe(true);
}

/** The next call works. It may be the first to notice that the connection has ended, and then fail once. */
async function worksAfter(
  outcome: Error | undefined,
  client: Client,
  key: string,
  runs: Counting['runs'],
): Promise<void> {
  let next = await written(client, `after ${key}`);
  if (next && !(outcome instanceof ConnectionError)) {
    classify(next, `after ${key}`, runs);
    next = await written(client, `at last after ${key}`);
  }
  expect(next, key).toBeUndefined();
}

const CUTS = (['up', 'down'] as const).flatMap((direction) =>
  (['is reset', 'is closed'] as const).map((end) => [direction, end] as const),
);

describe.each(['modern', 'legacy'] as const)('over Streamable HTTP, a connection (%s)', (eras) => {
  async function world(): Promise<Counting & { client: Client; tamper: Tamper }> {
    const made = counting();
    const listener = await made.server.listen({ port: 0 });
    onTestFinished(() => listener.close(0));
    const tamper = await Tamper.before(listener.url);
    const client = await clientOf(`${tamper.origin}/mcp`, { eras });
    // The first call also reads the list of tools, which says which arguments go into headers.
    await written(client, 'first');
    return { ...made, client, tamper };
  }

  async function eachByte(
    direction: Direction,
    { tamper }: { tamper: Tamper },
    call: (at: number) => Promise<void>,
    end: End,
  ): Promise<number> {
    const before = tamper.passed[direction];
    await call(-1);
    const length = tamper.passed[direction] - before;
    for (let at = 0; at <= length; at += 1) {
      tamper.cut(direction, at, end);
      await call(at);
      tamper.mend();
    }
    return length;
  }

  test.each(CUTS)('is cut after each byte (%s, it %s): a call runs at most once', async (direction, end) => {
    const there = await world();
    const { client, runs } = there;
    const outcomes = new Map<string, Error | undefined>();
    const length = await eachByte(
      direction,
      there,
      async (at) => {
        const key = `call ${String(at).padStart(5, '0')}`;
        const outcome = await written(client, key);
        outcomes.set(key, outcome);
        there.tamper.mend();
        await worksAfter(outcome, client, key, runs);
      },
      end,
    );
    expect(length).toBeGreaterThan(300);
    for (const [key, outcome] of outcomes) classify(outcome, key, runs);
    const failed = [...outcomes.values()].filter((outcome) => outcome !== undefined);
    expect(failed.length).toBeGreaterThan(100);
  });

  test.each(CUTS)('is cut after each byte (%s, it %s): a read is repeated', async (direction, end) => {
    const there = await world();
    const { client, runs } = there;
    const length = await eachByte(
      direction,
      there,
      async () => {
        expect(await client.readResource('note:one')).toMatchObject({ contents: [{ text: 'read' }] });
      },
      end,
    );
    expect(runs.get('read')).toBeLessThanOrEqual(2 * (length + 2));
  });
});

describe('over HTTP+SSE, a connection', () => {
  test.each(CUTS)('is cut after each byte (%s, it %s): a call runs at most once', async (direction, end) => {
    const { server, runs } = counting();
    const listener = await server.listen({ port: 0 });
    onTestFinished(() => listener.close(0));
    const tamper = await Tamper.before(listener.url);
    let length = 0;
    for (let at = -1; at <= length; at += 1) {
      // The session is lost with the stream. The client waits longer each time before it opens another.
      const client = await connect(new URL('/sse', tamper.origin), {
        eras: 'legacy',
        cache: false,
        timeout: 5000,
        eraCache: { get: () => ({ era: 'legacy', route: 'http+sse' }), set: () => {} },
        onerror: () => {},
      });
      const before = tamper.passed[direction];
      if (at >= 0) tamper.cut(direction, at, end);
      const key = `call ${at}`;
      const outcome = await written(client, key);
      if (at < 0) length = tamper.passed[direction] - before;
      tamper.mend();
      await worksAfter(outcome, client, key, runs);
      classify(outcome, key, runs);
      await client.close();
    }
    expect(length).toBeGreaterThan(100);
  });
});

describe.each(['modern', 'legacy'] as const)('over pipes, a connection (%s)', (eras) => {
  /** A pipe that can be ended after a number of bytes. */
  function cuttable(): { pipe: PassThrough; passed: () => number; cut: (after: number) => void } {
    let passed = 0;
    let left = Infinity;
    const pipe = new PassThrough({
      transform(chunk: Buffer, _, done) {
        passed += chunk.length;
        if (chunk.length < left) {
          left -= chunk.length;
          return done(null, chunk);
        }
        if (left > 0) this.push(chunk.subarray(0, left));
        left = 0;
        this.push(null);
        done();
      },
    });
    pipe.on('error', () => {});
    return { pipe, passed: () => passed, cut: (after) => (left = after) };
  }

  test.each(['up', 'down'] as const)('is cut after each byte (%s): a call runs at most once', async (direction) => {
    const { server, runs } = counting();
    let newest!: Record<Direction, ReturnType<typeof cuttable>>;
    const open = (): ClientTransport => {
      newest = { up: cuttable(), down: cuttable() };
      void server.connect(streamTransport(newest.up.pipe, newest.down.pipe));
      return streamTransport(newest.down.pipe, newest.up.pipe, { role: 'client' });
    };
    let length = 0;
    for (let at = -1; at <= length; at += 1) {
      const client = await clientOf(open, { eras });
      const cut = newest[direction];
      const before = cut.passed();
      if (at >= 0) cut.cut(at);
      const key = `call ${at}`;
      const outcome = await written(client, key);
      if (at < 0) length = cut.passed() - before;
      await worksAfter(outcome, client, key, runs);
      classify(outcome, key, runs);
      await client.close();
    }
    expect(length).toBeGreaterThan(50);
  });
});
