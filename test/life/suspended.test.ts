import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { connect as connectOfficial } from '../interop/clients.ts';
import { Events } from '../support/http.ts';
import { modernHeaders, modernRequest } from '../support/modern.ts';
import { root, type RunningServer } from '../support/process.ts';
import { connect, type Kind, type LifeClient } from './clients.ts';
import { frontOf, type Front, type Passing } from './front.ts';
import { describeWithRedis } from './with-redis.ts';
import { at, bridgeTo } from './world.ts';

/**
 * Calls of 2026-07-28 that ask their client. The client returns with its answers to another process than the one in which
 * the call waits.
 */

const KINDS: readonly Kind[] = ['official 2.x, 2026-07-28', 'ours, 2026-07-28'];

let folder: string;
let runs: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'everwire-suspended-'));
  runs = path.join(folder, 'runs');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** What the tools of all processes have done, in order. */
const done = (): string[] => (existsSync(runs) ? readFileSync(runs, 'utf8').trim().split('\n') : []);

/** First calls go to the first server, answers to the second one. */
const answersSecond = ({ body }: Passing): number => (body.includes('"requestState"') ? 1 : 0);

describeWithRedis('several servers', (shared) => {
  const program = (): string[] => [`${root}test/fixtures/suspending.mjs`, '--runs', runs];

  async function start(
    kind: Kind,
    count: number,
    choose?: (passing: Passing) => number | undefined,
  ): Promise<{ servers: RunningServer[]; front: Front; client: LifeClient }> {
    const servers = await shared.serve(count, program());
    const front = await frontOf(servers, choose);
    return { servers, front, client: await connect(kind, 'http', at(front)) };
  }

  async function answerAll(client: LifeClient, ...names: string[]): Promise<void> {
    for (const [index, name] of names.entries())
      (await client.asked(['first?', 'second?', 'third?'][index]!)).answer(name);
  }

  test.each(KINDS)('continue a call wherever its answers arrive (%s)', async (kind) => {
    const { front, client } = await start(kind, 3);
    const call = client.call('survey');
    await answerAll(client, 'Ada', 'Bea', 'Cy');
    const [pid] = done()[0]!.match(/\d+/)!;
    expect(await call).toBe(`Ada Bea Cy ${pid}`);
    expect(done()).toEqual([`survey ${pid}`, ...Array.from({ length: 3 }, () => `survey answered ${pid}`)]);
    const rounds = front.passed.filter(({ body }) => body.includes('"survey"'));
    expect(new Set(rounds.map(({ server }) => server)).size).toBe(3);
  });

  test('bring progress to the process of the caller', async () => {
    const front = await frontOf(await shared.serve(2, program()), answersSecond);
    const client = await connectOfficial('client 2.x modern', 'http', at(front));
    onTestFinished(() => client.close());
    const messages: (string | undefined)[] = [];
    const onprogress = ({ message }: { message?: string }): void => void messages.push(message);
    await client.callTool({ name: 'survey' }, { onprogress });
    expect(messages).toContain('counted');
  });

  test.each(KINDS)('end a call whose caller leaves another process (%s)', async (kind) => {
    const { servers, client } = await start(kind, 2, answersSecond);
    const abort = new AbortController();
    const call = client.call('hold', {}, { signal: abort.signal });
    (await client.asked('go?')).answer('Ada');
    await expect.poll(done).toEqual([`hold ${servers[0]!.pid}`]);
    abort.abort();
    await expect(call).rejects.toThrow(/abort|cancel/i);
    await expect.poll(done).toEqual([`hold ${servers[0]!.pid}`, `cancelled ${servers[0]!.pid}`]);
  });

  test.each(KINDS)('run a call again that is safe to rerun, if its process was killed (%s)', async (kind) => {
    const { servers, client } = await start(kind, 2, answersSecond);
    const call = client.call('safe');
    const first = await client.asked('first?');
    servers[0]!.child.kill('SIGKILL');
    await servers[0]!.stop();
    first.answer('Ada');
    (await client.asked('second?')).answer('Bea');
    (await client.asked('third?')).answer('Cy');
    expect(await call).toBe(`Ada Bea Cy ${servers[1]!.pid}`);
  });

  test.each(KINDS)('run it again if its process is killed while it goes on (%s)', async (kind) => {
    const { servers, client } = await start(kind, 2, answersSecond);
    const call = client.call('hold-safe');
    (await client.asked('go?')).answer(`${servers[0]!.pid}`);
    await expect.poll(() => client.forms.length).toBe(2);
    client.forms[1]!.answer('again');
    await expect.poll(done).toContain(`hold ${servers[0]!.pid}`);
    servers[0]!.child.kill('SIGKILL');
    expect(await call).toBe(`${servers[1]!.pid}`);
  });

  test.each(KINDS)('say clearly that another call is lost with its process (%s)', async (kind) => {
    const { servers, client } = await start(kind, 2, answersSecond);
    const call = client.call('survey');
    const first = await client.asked('first?');
    servers[0]!.child.kill('SIGKILL');
    await servers[0]!.stop();
    first.answer('Ada');
    await expect(call).rejects.toThrow('no longer waits for answers');
    expect(done()).toEqual([`survey ${servers[0]!.pid}`]);
  });

  test.each(KINDS)('end a call whose caller was lost with its process (%s)', async (kind) => {
    const { servers, client } = await start(kind, 2, answersSecond);
    const abort = new AbortController();
    const call = client.call('hold', {}, { signal: abort.signal });
    const ended = call.catch((error: unknown) => error);
    (await client.asked('go?')).answer('Ada');
    await expect.poll(done).toEqual([`hold ${servers[0]!.pid}`]);
    servers[1]!.child.kill('SIGKILL');
    await expect.poll(done).toContain(`cancelled ${servers[0]!.pid}`);
    // The official client waits for its own timeout.
    abort.abort();
    expect(await ended).toBeInstanceOf(Error);
  });

  test.each(KINDS)('finish a call during which Redis was restarted without its data (%s)', async (kind) => {
    const { servers, client } = await start(kind, 2, answersSecond);
    const call = client.call('gated');
    (await client.asked('go?')).answer('Ada');
    await expect.poll(done).toEqual([`gated ${servers[0]!.pid}`]);
    await shared.redis.restart();
    appendFileSync(runs, 'open\n');
    expect(await call).toBe(`${servers[0]!.pid}`);
    expect(done()).toEqual([`gated ${servers[0]!.pid}`, 'open']);
  });

  describe('with a task', () => {
    const TASKS = { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } };
    const answer = (name: string) => ({ action: 'accept', content: { name } });

    function post({ url }: RunningServer, method: string, params: Record<string, unknown>): Promise<Response> {
      const message = modernRequest(1, method, params, TASKS);
      return fetch(url, { method: 'POST', headers: modernHeaders(message), body: JSON.stringify(message) });
    }

    async function send(...request: Parameters<typeof post>): Promise<any> {
      const response = await post(...request);
      if (response.headers.get('content-type') === 'application/json') return response.json();
      const events = await new Events(response).rest();
      return JSON.parse(events.findLast(({ data }) => data)!.data!);
    }

    /** A task of the first server, whose first question can be read at the second one. */
    async function begun() {
      const servers = await shared.serve(2, program());
      const { taskId } = (await send(servers[0]!, 'tools/call', { name: 'task' })).result;
      const read = async () => (await send(servers[1]!, 'tasks/get', { taskId })).result;
      const asked = async (message: string): Promise<string> => {
        const open = async () => Object.entries<any>((await read()).inputRequests ?? {});
        await expect.poll(async () => (await open())[0]?.[1].params.message).toBe(message);
        return (await open())[0]![0];
      };
      await asked('first?');
      return { servers, taskId, read, asked };
    }

    test('take its answers at another process', async () => {
      const { servers, taskId, read, asked } = await begun();
      for (const message of ['first?', 'second?', 'third?']) {
        const inputResponses = { [await asked(message)]: answer(message) };
        expect((await send(servers[1]!, 'tasks/update', { taskId, inputResponses })).error).toBeUndefined();
      }
      await expect.poll(read).toMatchObject({ status: 'completed' });
      expect((await read()).result.content[0].text).toBe(`first? second? third? ${servers[0]!.pid}`);
    });

    test('cancel it at another process', async () => {
      const { servers, taskId, read } = await begun();
      expect((await send(servers[1]!, 'tasks/cancel', { taskId })).error).toBeUndefined();
      expect(await read()).toMatchObject({ status: 'cancelled', statusMessage: 'Cancelled by its caller' });
    });

    /** A listener at the second process. Returns a function for the next state it hears of that asks something new, or is the last. */
    async function listen({ servers, taskId }: Awaited<ReturnType<typeof begun>>): Promise<() => Promise<any>> {
      const events = new Events(
        await post(servers[1]!, 'subscriptions/listen', { notifications: { taskIds: [taskId] } }),
      );
      onTestFinished(() => events.cancel().catch(() => {}));
      expect((await events.message()).params.notifications).toEqual({ taskIds: [taskId] });
      const known = new Set<string>();
      return async () => {
        for (;;) {
          const { params } = await events.message();
          const what = Object.keys(params.inputRequests ?? {})[0] ?? params.status;
          if (what !== 'working' && !known.has(what)) {
            known.add(what);
            return params;
          }
        }
      };
    }

    test('tell those who listen at another process of each change', async () => {
      const task = await begun();
      const { servers, taskId } = task;
      const next = await listen(task);
      for (const message of ['first?', 'second?', 'third?']) {
        const [[key, { params }]] = Object.entries<any>((await next()).inputRequests) as [[string, any]];
        expect(params.message).toBe(message);
        await send(servers[0]!, 'tasks/update', { taskId, inputResponses: { [key]: answer(message) } });
      }
      expect((await next()).result.content[0].text).toBe(`first? second? third? ${servers[0]!.pid}`);
    });

    test('tell those who listen at another process that it has failed with its process', async () => {
      const task = await begun();
      const next = await listen(task);
      expect(await next()).toMatchObject({ status: 'input_required' });
      task.servers[0]!.child.kill('SIGKILL');
      await task.servers[0]!.stop();
      const statusMessage = 'The server was stopped before the task was done';
      expect(await next()).toMatchObject({ status: 'failed', statusMessage });
    });

    test('say that it has failed with its process', async () => {
      const { servers, taskId, read, asked } = await begun();
      const inputResponses = { [await asked('first?')]: answer('Ada') };
      servers[0]!.child.kill('SIGKILL');
      await servers[0]!.stop();
      expect((await send(servers[1]!, 'tasks/update', { taskId, inputResponses })).error).toBeUndefined();
      const statusMessage = 'The server was stopped before the task was done';
      expect(await read()).toMatchObject({ status: 'failed', statusMessage });
    });
  });

  // It suspends the call, because its server asks on the stream of the call.
  test.each(KINDS)('continue a call in a bridge, whichever of two gets the answer (%s)', async (kind) => {
    const servers = await shared.serve(2, bridgeTo(shared.world.stateful, '--port', '0'));
    const front = await frontOf(servers);
    const client = await connect(kind, 'http', at(front));
    for (let n = 0; n < 4; n += 1) {
      const call = client.call('greet', { who: `${n}` });
      (await client.asked(`Who is ${n}?`)).answer(`number ${n}`);
      expect(await call).toBe(`${n} is number ${n}`);
    }
    const [first, second] = front.counts;
    expect(Math.min(first!, second!)).toBeGreaterThan(3);
  });
});
