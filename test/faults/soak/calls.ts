import assert from 'node:assert/strict';
import type { Operation } from './load.ts';
import { official, type Answer, type Clients, type SoakClient } from './clients.ts';

type JsonObject = Record<string, any>;

const FIXED = 'feature://fixed';
let number = 0;

export const textOf = (result: JsonObject): string => result['content'][0].text;

/** Starts a call, and cancels it soon afterwards. */
export async function cancel(client: SoakClient, milliseconds: number): Promise<void> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new Error('enough')), milliseconds);
  try {
    await assert.rejects(client.call('wait', {}, { signal: controller.signal }), /enough|abort|cancel/i);
  } finally {
    clearTimeout(timer);
  }
}

/** Makes a call that times out. */
export async function timeOut(client: SoakClient): Promise<void> {
  await assert.rejects(client.call('wait', {}, { timeout: 200 }), /tim(ed|e) ?out|no answer|limit|within/i);
}

/** The operations of clients on the feature server. */
export function calls(clients: Clients, sse: { url: string; sseUrl: string }): Operation[] {
  const by = (name: string, perSecond: number, run: (client: SoakClient) => Promise<void>): Operation => ({
    name,
    perSecond,
    run: () => clients.use(run),
  });
  const answering = (answer: Answer, perSecond: number): Operation =>
    by(`a question: ${answer}`, perSecond, async (client) => {
      client.answer = answer;
      const { action } = JSON.parse(textOf(await client.call('ask')));
      assert.equal(action, answer);
    });
  return [
    by('a call', 60, (client) => echo(client, 20)),
    by('a large call', 2, (client) => echo(client, 100_000)),
    by('calls at once', 4, async (client) => {
      await Promise.all(Array.from({ length: 5 }, () => echo(client, 500)));
    }),
    by('a tool that fails', 10, async (client) => {
      const result = await client.call('fail');
      assert.deepEqual([result['isError'], textOf(result)], [true, 'as it should']);
    }),
    by('arguments that are none', 5, async (client) => {
      const result = await client.call('add', { a: 'one' }).catch((error: Error) => ({ isError: true, error }));
      assert.equal(result['isError'], true);
    }),
    by('a tool that is not there', 5, (client) => assert.rejects(client.call('nothing'), /nothing/)),
    by('progress', 6, async (client) => {
      const heard: number[] = [];
      const result = await client.call('count', { to: 3 }, { onprogress: ({ progress }) => void heard.push(progress) });
      assert.equal(textOf(result), 'counted to 3');
      assert.deepEqual(heard, [1, 2, 3]);
    }),
    by('a log message', 6, async (client) => {
      const data = `message ${(number += 1)}`;
      await client.call('log', { level: 'warning', data });
      await client.logged(data);
    }),
    by('a timeout', 5, timeOut),
    by('a cancelled call', 6, (client) => cancel(client, 50)),
    answering('accept', 6),
    answering('decline', 3),
    answering('cancel', 2),
    by('a question for the model', 2, async (client) => {
      assert.match(textOf(await client.call('sample', { prompt: 'Say something' })), /a sampled text/);
    }),
    by('a question for roots', 2, async (client) => {
      assert.match(textOf(await client.call('roots')), /file:\/\/\/tmp\/project/);
    }),
    by('a list', 4, async (client) => {
      assert.ok((await client.listTools()).some(({ name }) => name === 'echo'));
    }),
    by('a resource', 6, async (client) => {
      assert.equal((await client.read('feature://item/7'))['contents'][0].text, 'Item 7');
    }),
    by('a resource that is not there', 2, (client) => assert.rejects(client.read('feature://nothing'))),
    by('a prompt', 4, async (client) => {
      assert.match(JSON.stringify(await client.prompt('greet', { name: 'Ada' })), /Greet Ada\./);
    }),
    by('a completion', 3, async (client) => {
      assert.deepEqual(await client.complete('greet', 'name', 'A'), ['Ada', 'Alan']);
    }),
    by('a subscription', 3, async (client) => {
      const { heard, end } = await client.subscribe(FIXED);
      await client.call('touch', { uri: FIXED });
      await heard();
      await end();
    }),
    { name: 'a client that comes and goes', perSecond: 3, run: () => clients.once((client) => echo(client, 20)) },
    {
      name: 'a client that goes while it is asked',
      perSecond: 1,
      run: () =>
        clients.once(async (client) => {
          client.answer = 'never';
          const asked = client.call('ask');
          asked.catch(() => {});
          await echo(client, 20);
        }),
    },
    {
      name: 'a client of HTTP+SSE',
      perSecond: 0.5,
      run: async () => {
        const client = await official('sdk 1.x', 'sse', { stdio: [], ...sse });
        try {
          await echo(client, 20);
        } finally {
          await client.close();
        }
      },
    },
  ];
}

async function echo(client: SoakClient, length: number): Promise<void> {
  const text = `${(number += 1)} ${'x'.repeat(length)}`;
  assert.equal(textOf(await client.call('echo', { text })), text);
}
