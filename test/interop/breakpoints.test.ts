import { StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { describe, expect, test } from 'vitest';
import type { RuleAction } from '../../src/inspect/breakpoints/breakpoint-api.ts';
import { node, temporaryFolder } from '../support/command-line.ts';
import { PageClient, startInspector } from '../support/inspector.ts';
import { programs } from '../support/process.ts';
import { connectTo, END, features, logged, officialClient, type SdkVersion } from '../support/teed.ts';

interface World {
  readonly version: SdkVersion;
  readonly client: Client;
  readonly page: PageClient;
  /** The methods and the `text` arguments of the calls that the server received. */
  received(): string[];
}

type Content = readonly { readonly text: string }[];

/** Those whose client writes lines. */
const PIPES = ['stdio', 'through'] as const;
const VERSIONS = ['1.x', '2.x'] as const;
const bridge = ['bridge', '--inspect', '--inspect-port', '0'];

/** How the client is connected: to a bridge, or to the server through a pipe with a page. */
const TRANSPORTS = ['stdio', 'http', 'through'] as const;
type Transport = (typeof TRANSPORTS)[number];

/** An official client, a bridge or a pipe with a page, and the feature server. */
async function connected(version: SdkVersion, transport: Transport): Promise<World> {
  const theirs = temporaryFolder();
  const server = ['--', node, ...programs.tee, theirs, ...features];
  const client = officialClient(version);
  let page: PageClient;
  if (transport !== 'http') {
    const words = transport === 'stdio' ? [...bridge, '--stdio'] : ['inspect', '--through'];
    const { printed } = await connectTo(client, version, [node, ...programs.everwire, ...words, ...server]);
    page = await PageClient.open(await printed);
  } else {
    const inspector = await startInspector([...bridge, '--port', '0', ...server]);
    page = inspector.page;
    const [, url] = await inspector.child.line(/listening on (http:\S+)/);
    await client.connect(version === '1.x' ? new HttpV1(new URL(url!)) : new HttpV2(new URL(url!)));
  }
  await page.stay();
  const received = (): string[] =>
    logged(theirs).client.flatMap((line) => {
      const { params } = JSON.parse(line) as { params?: { arguments?: { text?: string } } };
      return params?.arguments?.text ?? [];
    });
  return { version, client, page, received };
}

/** @param timeout in milliseconds. */
async function echo({ client, version }: World, text: string, timeout = 60_000): Promise<string> {
  const call = { name: 'echo', arguments: { text } };
  const options = { timeout };
  // Client 2.x has no parameter for the schema of the result.
  const { content } = await (version === '1.x'
    ? client.callTool(call, undefined, options)
    : client.callTool(call, options as unknown as undefined));
  return (content as Content)[0]!.text;
}

async function rule({ page }: World, filter: string, action: RuleAction, nth?: number): Promise<void> {
  await page.command('setRule', { filter, action, enabled: true, nth });
}

const hold = { type: 'hold' } as const;

describe.each(VERSIONS)('between an official client %s and its server', (version) => {
  test.each(TRANSPORTS)('over %s, a request is held, edited and let go', async (transport) => {
    const world = await connected(version, transport);
    await rule(world, 'tool:echo kind:request', hold);
    const answer = echo(world, 'before');
    const { held } = await world.page.held(({ held: [first] }) => first);
    expect(held).toMatchObject([{ dir: 'c>s', kind: 'request', method: 'tools/call', tool: 'echo', state: 'held' }]);
    expect(held[0]!.client).toBe(transport === 'through' ? 'the host' : 'interop 1.0.0');
    const { id } = held[0]!;
    const { text } = await world.page.command('heldMessage', { id });
    await world.page.command('forwardHeld', { id, text: text.replace('before', END) });
    expect(await answer).toBe(END);
    expect(world.received()).toEqual([END]);
  });

  test('a response is dropped, and the client gives up at its time limit', async () => {
    const world = await connected(version, 'http');
    await rule(world, 'tool:echo kind:result', hold);
    const answer = echo(world, 'x', 3000);
    const { held } = await world.page.held(({ held: [first] }) => first);
    expect(held).toMatchObject([{ dir: 's>c', kind: 'result', tool: 'echo' }]);
    await world.page.command('dropHeld', { id: held[0]!.id });
    await expect(answer).rejects.toThrow(/timed out/);
  });

  test('a request is answered by hand, and the server never gets it', async () => {
    const world = await connected(version, 'stdio');
    await rule(world, 'tool:echo kind:request', hold, 1);
    const answer = echo(world, 'not sent');
    const { held } = await world.page.held(({ held: [first] }) => first);
    const text = '{"result":{"content":[{"type":"text","text":"by hand"}]}}';
    await world.page.command('answerHeld', { id: held[0]!.id, text });
    expect(await answer).toBe('by hand');
    expect(await echo(world, END)).toBe(END);
    expect(world.received()).toEqual([END]);
  });

  test.each(TRANSPORTS)('over %s, ten requests in flight keep their order', async (transport) => {
    const world = await connected(version, transport);
    await rule(world, 'tool:echo kind:request', hold);
    const texts = Array.from({ length: 10 }, (_, at) => (at === 9 ? END : `text ${at}`));
    const answers = [];
    for (const text of texts) {
      answers.push(echo(world, text));
      // Over HTTP, each request has a connection of its own, so only this fixes their order.
      await world.page.held(({ held }) => held.length === answers.length);
    }
    const { held } = await world.page.held(() => true);
    for (const { id } of held.toReversed()) await world.page.command('forwardHeld', { id });
    expect(await Promise.all(answers)).toEqual(texts);
    expect(world.received()).toEqual(texts);
  });

  test.each(TRANSPORTS)('over %s, what the client gave up is cancelled, and says after how long', async (transport) => {
    const world = await connected(version, transport);
    await rule(world, 'tool:echo kind:request', hold);
    const answer = echo(world, 'given up', 2000);
    await expect(answer).rejects.toThrow(/timed out/);
    const { held } = await world.page.held(({ held: [first] }) => first?.state === 'cancelled');
    const [cancelled] = held;
    await expect(world.page.command('forwardHeld', { id: cancelled!.id })).rejects.toThrow(
      '409: The message was cancelled: ',
    );
    const next = echo(world, END);
    const { held: both } = await world.page.held((state) => state.held.length === 2);
    expect(both[1]).toMatchObject({ state: 'held' });
    expect(both[1]!.patience).toBeGreaterThan(0);
    await world.page.command('forwardHeld', { id: both[1]!.id });
    expect(await next).toBe(END);
    expect(world.received()).toEqual([END]);
  });
});

describe.each(VERSIONS)('faults for an official client %s', (version) => {
  test('delay: the request goes on later', async () => {
    const world = await connected(version, 'http');
    await rule(world, 'tool:echo', { type: 'delay', ms: 500 });
    const started = performance.now();
    expect(await echo(world, END)).toBe(END);
    expect(performance.now() - started).toBeGreaterThan(490);
  });

  test('delay: others do not wait for the request, and it can go on at once', async () => {
    const world = await connected(version, 'http');
    await rule(world, 'body:$.params.arguments.text=slow', { type: 'delay', ms: 60_000 });
    const slow = echo(world, 'slow');
    const { held } = await world.page.held((state) => state.held.length === 1);
    expect(held).toMatchObject([{ action: 'delay', until: expect.any(Number) as number }]);
    expect(await echo(world, END)).toBe(END);
    await world.page.command('forwardHeld', { id: held[0]!.id });
    expect(await slow).toBe('slow');
  });

  test.each(PIPES)(
    'duplicate: the server gets the request twice, and the client one response (%s)',
    async (transport) => {
      const world = await connected(version, transport);
      await rule(world, 'tool:echo kind:request', { type: 'duplicate' }, 1);
      expect(await echo(world, 'twice')).toBe('twice');
      expect(await echo(world, END)).toBe(END);
      expect(world.received()).toEqual(['twice', 'twice', END]);
    },
  );

  test.each(PIPES)('reorder: the next request overtakes (%s)', async (transport) => {
    const world = await connected(version, transport);
    await rule(world, 'tool:echo kind:request', { type: 'reorder' }, 1);
    const first = echo(world, 'first');
    await world.page.held(({ held }) => held.length === 1);
    await Promise.all([first, echo(world, END)]);
    expect(world.received()).toEqual([END, 'first']);
  });

  test.each(PIPES)('drop: the response never comes (%s)', async (transport) => {
    const world = await connected(version, transport);
    await rule(world, 'tool:echo kind:result', { type: 'drop' }, 1);
    await expect(echo(world, 'dropped', 3000)).rejects.toThrow(/timed out/);
    expect(await echo(world, END)).toBe(END);
    expect(world.received()).toEqual(['dropped', END]);
  });

  test('kill: the call fails, and the next one has another process', async () => {
    const world = await connected(version, 'stdio');
    await rule(world, 'tool:wait kind:request', { type: 'kill' });
    // Before the first call, the bridge may ask for the list. Then the call certainly did not run, and is repeated.
    expect(await echo(world, 'alive')).toBe('alive');
    // A call that the server answers at once could be quicker than the signal.
    await expect(world.client.callTool({ name: 'wait', arguments: {} })).rejects.toThrow(/SIGKILL|connection/i);
    expect(await echo(world, END)).toBe(END);
  });

  test('kill: the client of a pipe sees that the server has gone', async () => {
    const world = await connected(version, 'through');
    await rule(world, 'tool:wait kind:request', { type: 'kill' });
    const closed = new Promise<void>((resolve) => {
      world.client.onclose = resolve;
    });
    await expect(world.client.callTool({ name: 'wait', arguments: {} })).rejects.toThrow(/closed/i);
    await closed;
  });

  test.each(PIPES)('corrupt: the line is not JSON, and the call has no answer (%s)', async (transport) => {
    const world = await connected(version, transport);
    await rule(world, 'tool:echo', { type: 'corrupt' }, 1);
    const reported = new Promise<Error>((resolve) => {
      world.client.onerror = resolve;
    });
    await expect(echo(world, 'corrupted', 3000)).rejects.toThrow(/timed out/);
    // Client 2.x skips lines that are not JSON, and does not report them.
    expect(version === '1.x' ? (await reported).message : 'JSON').toMatch(/JSON/);
    expect(await echo(world, END)).toBe(END);
  });

  test.each(PIPES)('cut: the connection closes in the line of the response (%s)', async (transport) => {
    const world = await connected(version, transport);
    await rule(world, 'tool:echo', { type: 'cut', bytes: 10 }, 1);
    await expect(echo(world, 'cut off')).rejects.toThrow(/closed/i);
  });

  test('corrupt: the response is not JSON', async () => {
    const world = await connected(version, 'http');
    await rule(world, 'tool:echo', { type: 'corrupt' }, 1);
    // If the server is slow, the response is an event of a stream. These clients ignore one that is not JSON.
    await expect(echo(world, 'corrupted', 5000)).rejects.toThrow(/JSON|timed out/);
    expect(await echo(world, END)).toBe(END);
  });

  test('cut: the connection closes in the body of the response', async () => {
    const world = await connected(version, 'http');
    await rule(world, 'tool:echo', { type: 'cut', bytes: 10 }, 1);
    await expect(echo(world, 'cut off')).rejects.toThrow(/terminated|other side closed/);
    expect(await echo(world, END)).toBe(END);
    const bodies: number[] = [];
    for await (const record of await world.page.records()) {
      if (record.layer === 'body' && record.dir === 's>c' && record.note !== undefined) bodies.push(record.range[1]!);
      if (record.layer === 'body' && record.note !== undefined) break;
    }
    expect(bodies).toHaveLength(1);
  });

  test('500: the request fails, and the server never gets it', async () => {
    const world = await connected(version, 'http');
    await rule(world, 'tool:echo', { type: 'status', status: 500 }, 1);
    await expect(echo(world, 'failed')).rejects.toThrow(/Everwire answered with 500/);
    expect(await echo(world, END)).toBe(END);
    expect(world.received()).toEqual([END]);
  });

  test('404: the session ends', async () => {
    const world = await connected(version, 'http');
    await rule(world, 'tool:echo', { type: 'status', status: 404 }, 1);
    await expect(echo(world, 'no session')).rejects.toThrow(/Everwire answered with 404/);
    const next = await echo(world, END).catch((error: Error) => error.message);
    // Client 2.x speaks 2026-07-28, which has no sessions.
    expect(next).toMatch(version === '2.x' ? END : /session/i);
  });
});

test('commands for breakpoints are checked, and refused where nothing passes', async () => {
  const { page } = await startInspector([...bridge, '--port', '0', '--', ...features]);
  const post = async (name: string, argument: object): Promise<string> => {
    const { status, text } = await page.post(`/api/${name}`, JSON.stringify(argument));
    return `${status} ${text}`;
  };
  const action = { type: 'hold' };
  expect(await post('setRule', { filter: 'method:', action, enabled: true })).toMatch(/^400 .*Write a value/);
  expect(await post('setRule', { filter: '', action: { type: 'explode' }, enabled: true })).toMatch(/^400 .*an action/);
  expect(await post('setRule', { filter: '', action: { ...action, ms: 1 }, enabled: true })).toMatch(
    /^400 .*an action/,
  );
  expect(await post('setRule', { filter: '', action: { type: 'delay' }, enabled: true })).toMatch(/^400 .*an action/);
  expect(await post('setRule', { filter: '', action, enabled: true, nth: 0 })).toMatch(/^400 .*number 1/);
  expect(await post('forwardHeld', { id: 1 })).toMatch(/^409 .*already passed on/);
  expect(await post('connect', {})).toMatch(/^409 .*only shows traffic/);
});
