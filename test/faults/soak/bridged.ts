import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { setTimeout as delay } from 'node:timers/promises';
import { connect } from 'everwire/client';
import { ABLE } from '../../support/modern.ts';
import { eventually, programs } from '../../support/process.ts';
import { classify, texts } from '../malformed.ts';
import { cancel, textOf, timeOut } from './calls.ts';
import type { Answer, Clients, SoakClient } from './clients.ts';
import { readSlowly } from './faults.ts';
import type { Operation } from './load.ts';
import type { RawHttp, RawSession } from './raw.ts';

let number = 0;
const name = (): string => `soak raw ${(number += 1)}`;

/** Calls and faults of a bridge in front of `test/fixtures/asking-child.mjs`. */
export function bridged(clients: Clients, http: RawHttp): Operation[] {
  const by = (what: string, perSecond: number, run: (client: SoakClient) => Promise<void>): Operation => ({
    name: `bridge: ${what}`,
    perSecond,
    run: () => clients.use(run),
  });
  const raw = (what: string, perSecond: number, run: () => Promise<void>): Operation => ({
    name: `bridge: ${what}`,
    perSecond,
    run,
  });
  const answering = (answer: Answer, perSecond: number): Operation =>
    by(`a question: ${answer}`, perSecond, async (client) => {
      client.answer = answer;
      const who = `caller ${(number += 1)}`;
      const given = answer === 'accept' ? 'Ada' : 'undefined';
      assert.equal(textOf(await client.call('greet', { who })), `${who} is ${given}`);
    });
  return [
    by('a call', 15, async (client) => void (await pidOf(client))),
    by('a list', 2, async (client) => {
      assert.ok((await client.listTools()).length > 5);
    }),
    answering('accept', 4),
    answering('decline', 2),
    answering('cancel', 1),
    by('a timeout', 1, timeOut),
    by('a cancelled call', 2, (client) => cancel(client, 50)),
    by('progress and logs', 3, async (client) => {
      let last = 0;
      const onprogress = ({ progress }: { progress: number }): void => {
        assert.ok(progress > last);
        last = progress;
      };
      assert.equal(textOf(await client.call('chatter', { count: 30, bytes: 200 }, { onprogress })), 'said 30');
      assert.ok(last > 0);
    }),
    by('a child that dies', 0.2, async (client) => {
      const before = await pidOf(client);
      await assert.rejects(client.call('die'));
      await replaced(client, before);
    }),
    by('a child that is killed', 0.3, async (client) => {
      const before = await pidOf(client);
      const waiting = client.call('wait');
      waiting.catch(() => {});
      // In flight on the same connection, after the first.
      await client.call('greet', { who: 'someone' });
      process.kill(before, 'SIGKILL');
      await assert.rejects(waiting);
      await replaced(client, before);
    }),
    raw('a client that comes and goes', 0.4, () => clients.once(async (client) => void (await pidOf(client)))),
    raw('a client that goes while it is asked', 0.2, () =>
      clients.once(async (client) => {
        client.answer = 'never';
        // Without a session, the bridge keeps the question for ten minutes, and memory would grow during that time.
        if (!client.kind.endsWith('modern')) client.call('greet', { who: 'nobody' }).catch(() => {});
        await pidOf(client);
      }),
    ),
    raw('an abandoned session', 0.2, async () => void (await greeting(http))),
    raw('a caller that does not come again', 0.2, async () => {
      const { result } = await http.ask('tools/call', { name: 'pid', arguments: {} }, name());
      assert.match(textOf(result), /^\d+$/);
    }),
    raw('a question that nobody answers, in a session', 0.2, async () => {
      const stream = await (await http.open(ABLE)).callStream('greet', { who: 'nobody' });
      assert.equal((await stream.next()).message['method'], 'elicitation/create');
      stream.cut();
    }),
    raw('a question whose child is killed', 0.2, () => killDuringQuestion(http)),
    raw('a client that is gone in the middle of a call', 0.3, async () => {
      const { headers, body } = http.modern('tools/call', { name: 'wait', arguments: {} }, name());
      const stream = await http.stream('POST', headers, body);
      stream.cut();
    }),
    raw('a slow reader', 0.1, () => readSlowly(http, 'chatter', { count: 300, bytes: 10_000 })),
    raw('bodies that are no messages', 0.2, () => malformed(http)),
    { name: 'a client over stdio', perSecond: 0.1, run: overStdio },
  ];
}

async function pidOf(client: SoakClient): Promise<number> {
  const text = textOf(await client.call('pid'));
  assert.match(text, /^\d+$/);
  return Number(text);
}

/** Resolves when a new child answers. A call that comes before the bridge notices the exit fails with the old child. */
async function replaced(client: SoakClient, before: number): Promise<void> {
  const other = async (): Promise<boolean> => (await pidOf(client).catch(() => before)) !== before;
  await eventually(other, 'another child answers', 20_000);
}

async function greeting(http: RawHttp): Promise<RawSession> {
  const session = await http.open();
  assert.match(textOf((await session.call('pid'))['result']), /^\d+$/);
  return session;
}

async function killDuringQuestion(http: RawHttp): Promise<void> {
  const caller = name();
  const params = { name: 'greet', arguments: { who: 'nobody' } };
  const { result } = await http.ask('tools/call', params, caller);
  assert.equal(result?.resultType, 'input_required');
  const pid = Number(textOf((await http.ask('tools/call', { name: 'pid', arguments: {} }, caller))['result']));
  process.kill(pid, 'SIGKILL');
  const [key] = Object.keys(result.inputRequests);
  const inputResponses = { [key!]: { action: 'accept', content: { name: 'Ada' } } };
  const retry = { ...params, requestState: result.requestState, inputResponses };
  assert.equal((await http.ask('tools/call', retry, caller))['error']?.code, -32000);
}

async function malformed(http: RawHttp): Promise<void> {
  const session = await http.open();
  for (const body of fc.sample(texts, 20)) {
    const classified = classify(body);
    // The child exits if it gets a call of an unknown tool.
    if (classified.kind === 'request' && classified.method === 'tools/call') continue;
    const { status } = await http.send('POST', session.headers, body);
    const isNone = classified.kind === 'parse error' || classified.kind === 'invalid';
    const show = Buffer.from(body).toString().slice(0, 500);
    if (isNone) assert.equal(status, 400, `${status} for ${show}`);
    else assert.ok(status < 500, `${status} for ${show}`);
  }
  assert.equal(await session.delete(), 204);
}

async function overStdio(): Promise<void> {
  const args = [...programs.features, '--stdio'];
  const client = await connect({ command: process.execPath, args, onstderr: () => {} });
  try {
    assert.equal((await client.callTool('echo', { text: 'here' })).content.length, 1);
    await assert.rejects(client.callTool('wait', {}, { timeout: 100, maxTimeout: 300 }));
    await delay(10);
  } finally {
    await client.close();
  }
}
