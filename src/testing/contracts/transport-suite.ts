import assert from 'node:assert/strict';
import { waitFor } from '../../base/wait.ts';
import { errorResponse, notification, request, resultResponse, type Message } from '../../jsonrpc/message.ts';
import type { Transport } from '../../transport/transport.ts';
import type { SuiteCase } from './event-log-suite.ts';

/** Two ends of one connection, neither started. `a` must be able to start before `b` does. */
export interface TransportPair {
  readonly a: Transport;
  readonly b: Transport;
  /** Releases other resources of the pair. Called after both ends are closed. */
  close?(): Promise<void>;
}

/** Time limit of each step, in milliseconds. */
const LIMIT = 10_000;

/**
 * Test cases for every `Transport`.
 *
 * @param open opens a new pair. Called once per case.
 */
export function transportSuite(open: () => Promise<TransportPair>): SuiteCase[] {
  const cases: SuiteCase[] = [];
  const define = (name: string, run: (a: End, b: End) => Promise<void>): void => {
    cases.push({
      name,
      run: async () => {
        const pair = await open();
        const [a, b] = [new End('a', pair.a), new End('b', pair.b)];
        try {
          await run(a, b);
        } finally {
          await within('closing both ends', Promise.all([pair.a.close(), pair.b.close()]));
          await pair.close?.();
        }
      },
    });
  };

  define('nothing is delivered before start, and earlier messages are delivered then', async (a, b) => {
    await within('start', a.transport.start());
    await a.send(notification('early', { n: 1 }));
    await a.send(notification('early', { n: 2 }));
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(b.received, []);
    await within('start', b.transport.start());
    assert.deepEqual(await b.next(2), [notification('early', { n: 1 }), notification('early', { n: 2 })]);
  });

  define('every kind of message arrives unchanged, in both directions', async (a, b) => {
    await start(a, b);
    const messages: Message[] = [
      request(1, 'with/params', { deep: [{ list: [1, -2.5, 1e21, true, null, ''] }], _meta: { 'x/y': {} } }),
      request('a string', 'no/params'),
      request(0, 'zero'),
      request(-1, 'negative'),
      request('', 'empty'),
      notification('notifications/some', { n: 1 }),
      notification('notifications/none'),
      resultResponse(7, { any: 'thing' }),
      resultResponse('seven', {}),
      errorResponse(8, { code: -32601, message: 'Method not found', data: { more: [1] } }),
      errorResponse(undefined, { code: -32700, message: 'Parse error' }),
      { jsonrpc: '2.0', method: 'notifications/unknown', params: {}, unknown: 'field' } as Message,
    ];
    const answers = messages
      .filter((message) => 'method' in message && 'id' in message)
      .map((message) => resultResponse((message as { id: number }).id, {}));
    for (const [from, to] of [
      [a, b],
      [b, a],
    ] as const) {
      for (const message of messages) await from.send(message);
      assert.deepEqual(await to.next(messages.length), messages);
      for (const answer of answers) await to.send(answer);
      assert.deepEqual(await from.next(answers.length), answers);
    }
  });

  define('messages arrive in the order in which they were sent, whether send is awaited or not', async (a, b) => {
    await start(a, b);
    const messages = Array.from({ length: 1000 }, (_, n) => notification('n', { n }));
    await Promise.all(messages.flatMap((message) => [a.send(message), b.send(message)]));
    assert.deepEqual(await b.next(1000), messages);
    assert.deepEqual(await a.next(1000), messages);
    for (const message of messages.slice(0, 100)) await a.send(message);
    assert.deepEqual(await b.next(100), messages.slice(0, 100));
  });

  define('strings may contain any character, and do not split the message', async (a, b) => {
    await start(a, b);
    const text = 'line\nbreak \r\n \u2028\u2029 \0 \u001b "quoted" \\ ünï çödé 漢字 😀 \ufeff \ud800 end';
    const message = notification('n', { [text]: text });
    await a.send(message);
    assert.deepEqual(await b.next(1), [message]);
  });

  define('messages of a megabyte arrive in both directions at the same time', async (a, b) => {
    await start(a, b);
    const messages = Array.from({ length: 4 }, (_, n) =>
      notification('large', { n, text: 'ä漢😀x'.repeat(1024 * 128) }),
    );
    const sent = [...messages.map((message) => a.send(message)), ...messages.map((message) => b.send(message))];
    assert.deepEqual(await b.next(4), messages);
    assert.deepEqual(await a.next(4), messages);
    await within('send', Promise.all(sent));
  });

  define('a message can be answered inside onmessage', async (a, b) => {
    b.onmessage = (message) => {
      if ('method' in message && 'id' in message)
        void b.transport.send(resultResponse(message.id, {}), { relatedRequestId: message.id });
    };
    await start(a, b);
    for (let id = 0; id < 100; id++) {
      await a.send(request(id, 'ping'));
      assert.deepEqual(await a.next(1), [resultResponse(id, {})]);
    }
  });

  define('a handler that throws is reported, and the next messages still arrive', async (a, b) => {
    const error = new Error('thrown by the handler');
    b.onmessage = (message) => {
      if ('method' in message && message.method === 'bad') throw error;
    };
    await start(a, b);
    await a.send(notification('bad'));
    await a.send(notification('good'));
    assert.deepEqual(await b.next(2), [notification('bad'), notification('good')]);
    assert.deepEqual(b.errors, [error]);
  });

  define('a message that cannot be written as JSON does not break the connection', async (a, b) => {
    await start(a, b);
    const cyclic: Record<string, unknown> = {};
    cyclic['self'] = cyclic;
    // In memory this may succeed; all other transports must reject it.
    const refused = await a.send(notification('cyclic', cyclic)).then(
      () => false,
      () => true,
    );
    await a.send(notification('good'));
    assert.deepEqual((await b.next(refused ? 1 : 2)).at(-1), notification('good'));
  });

  define('messages arrive in any negotiated revision', async (a, b) => {
    await start(a, b);
    for (const version of ['2025-03-26', '2025-11-25', 'never heard of']) {
      a.transport.setProtocolVersion?.(version);
      b.transport.setProtocolVersion?.(version);
      await a.send(notification('n', { version }));
      assert.deepEqual(await b.next(1), [notification('n', { version })]);
    }
  });

  define('messages that were sent before close still arrive', async (a, b) => {
    await start(a, b);
    const messages = Array.from({ length: 100 }, (_, n) => notification('n', { n, text: 'x'.repeat(1000) }));
    await within('send', Promise.all(messages.map((message) => a.send(message))));
    await within('close', a.transport.close());
    assert.deepEqual(await b.next(100), messages);
  });

  for (const [name, closes] of [
    ['one end closes', (a: End) => [a]],
    ['the other end closes', (_: End, b: End) => [b]],
    ['both ends close', (a: End, b: End) => [a, b]],
  ] as const) {
    define(`onclose is called once on both ends if ${name}, and no other callback follows`, async (a, b) => {
      await start(a, b);
      await a.send(notification('n'));
      await b.next(1);
      await within('close', Promise.all(closes(a, b).map((end) => end.transport.close())));
      await within('onclose', Promise.all([a.closed, b.closed]));
      await a.send(notification('late')).catch(() => {});
      await b.send(notification('late')).catch(() => {});
      await within('close again', Promise.all([a.transport.close(), a.transport.close(), b.transport.close()]));
      await new Promise((resolve) => setImmediate(resolve));
      for (const end of [a, b]) {
        assert.equal(end.closes, 1, `onclose of ${end.name}`);
        assert.equal(end.afterClose, 0, `callbacks of ${end.name} after onclose`);
      }
    });
  }

  define('send rejects after the connection has closed, on both ends', async (a, b) => {
    await start(a, b);
    await within('close', a.transport.close());
    await assert.rejects(a.send(notification('late')));
    await within('onclose', b.closed);
    await assert.rejects(b.send(notification('late')));
  });

  define('the connection can be closed inside onmessage, and nothing more is delivered', async (a, b) => {
    let closing: Promise<void> | undefined;
    b.onmessage = () => void (closing ??= b.transport.close());
    await start(a, b);
    await Promise.all([1, 2, 3].map((n) => a.send(notification('n', { n }))));
    await within('onclose', Promise.all([a.closed, b.closed]));
    await within('close', closing ?? Promise.reject(new Error('nothing arrived')));
    assert.deepEqual(b.received, [notification('n', { n: 1 })]);
  });

  define('close resolves before start, and send then rejects', async (a) => {
    await within('close', a.transport.close());
    await assert.rejects(a.send(notification('late')));
    assert.ok(a.closes <= 1);
  });

  define('callbacks may be absent', async (a, b) => {
    for (const { transport } of [a, b]) {
      transport.onmessage = undefined;
      transport.onclose = undefined;
      transport.onend = undefined;
      transport.onerror = undefined;
    }
    await start(a, b);
    await a.send(notification('n'));
    await b.send(notification('n'));
    await within('close', a.transport.close());
    await within('close', b.transport.close());
  });

  return cases;
}

/** One end of the pair, and what happened at it. */
class End {
  readonly name: string;
  readonly transport: Transport;
  readonly received: Message[] = [];
  readonly errors: Error[] = [];
  readonly closed: Promise<void>;
  onmessage: ((message: Message) => void) | undefined;
  closes = 0;
  afterClose = 0;
  #taken = 0;
  #wake: () => void = () => {};

  constructor(name: string, transport: Transport) {
    this.name = name;
    this.transport = transport;
    transport.onmessage = (message: Message) => {
      this.#happened();
      this.received.push(message);
      this.#wake();
      this.onmessage?.(message);
    };
    transport.onerror = (error) => {
      this.#happened();
      this.errors.push(error);
    };
    this.closed = new Promise((resolve) => {
      transport.onclose = () => {
        this.#happened();
        this.closes += 1;
        resolve();
      };
    });
  }

  send(message: Message): Promise<void> {
    return within(`send of ${this.name}`, this.transport.send(message));
  }

  /** The next messages that arrive, once all of them have. */
  async next(count: number): Promise<Message[]> {
    const upTo = this.#taken + count;
    const all = new Promise<void>((resolve) => {
      this.#wake = () => {
        if (this.received.length >= upTo) resolve();
      };
      this.#wake();
    });
    await within(`${count} messages at ${this.name}`, all);
    const messages = this.received.slice(this.#taken, upTo);
    this.#taken = upTo;
    return messages;
  }

  #happened(): void {
    if (this.closes > 0) this.afterClose += 1;
  }
}

async function start(a: End, b: End): Promise<void> {
  await within('start', Promise.all([a.transport.start(), b.transport.start()]));
}

/** A transport that hangs fails its case instead of the runner. */
function within<T>(what: string, event: Promise<T>): Promise<T> {
  const timeoutError = (): Error => new assert.AssertionError({ message: `${what} took more than ${LIMIT} ms` });
  return waitFor(event, { timeout: LIMIT, timeoutError });
}
