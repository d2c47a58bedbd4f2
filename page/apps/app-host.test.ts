import { describe, expect, test } from 'vitest';
import { Deferred } from '../../src/base/deferred.ts';
import type { JsonObject } from '../../src/jsonrpc/message.ts';
import { AppHost, type Answer } from './app-host.ts';

/** A host with an app that a test plays. */
class World {
  readonly posted: JsonObject[] = [];
  readonly recorded: string[] = [];
  readonly sent: {
    readonly method: string;
    readonly params: JsonObject;
    cancelled: boolean;
    answer(answer: Answer): void;
  }[] = [];
  readonly refusals = new Map<unknown, string>();
  closed = 0;
  readonly host = new AppHost({
    post: (message) => this.posted.push(message),
    record: (from, text) => this.recorded.push(`${from} ${text}`),
    request: (method, params) => {
      const answered = new Deferred<Answer>();
      const sent = { method, params, cancelled: false, answer: (answer: Answer) => answered.resolve(answer) };
      this.sent.push(sent);
      return { answered: answered.promise, cancel: () => (sent.cancelled = true) };
    },
    whyNotCall: async (tool) => this.refusals.get(tool),
    context: () => ({ theme: 'dark' }),
    sandbox: {},
    onclose: () => (this.closed += 1),
  });
  #now = 0;

  say(message: unknown): void {
    this.#now += 10;
    this.host.receive(JSON.stringify(message) ?? '', this.#now);
  }

  request(id: string | number, method: string, params: JsonObject = {}): void {
    this.say({ jsonrpc: '2.0', id, method, params });
  }

  notify(method: string, params: JsonObject = {}): void {
    this.say({ jsonrpc: '2.0', method, params });
  }

  start(): void {
    this.request('start', 'ui/initialize', { appInfo: { name: 'a', title: 'An app' } });
    this.notify('ui/notifications/initialized');
    this.posted.length = 0;
  }

  /** The last message of the host. */
  get last(): JsonObject | undefined {
    return this.posted.at(-1);
  }
}

function started(): World {
  const world = new World();
  world.start();
  return world;
}

const TOO_LARGE = 'It sent a message of more than 4 Mi characters, or more than 4 MiB in memory.';

/** All microtasks. */
const settle = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

describe('the lifecycle', () => {
  test('ui/initialize is answered with the revision, the capabilities and the context', () => {
    const world = new World();
    world.request(1, 'ui/initialize', { appInfo: { name: 'a', title: 'An app' } });
    expect(world.host.status.value).toBe('starting');
    expect(world.host.name.value).toBe('An app');
    expect(world.last).toMatchObject({
      id: 1,
      result: {
        protocolVersion: '2026-01-26',
        hostCapabilities: { openLinks: {}, serverTools: {}, sandbox: {} },
        hostContext: { theme: 'dark' },
      },
    });
  });

  test('nothing but answers goes to the app before ui/notifications/initialized, and then all in order', () => {
    const world = new World();
    world.host.toolInput({ a: 1 });
    world.host.toolResult({ content: [] });
    world.host.contextChanged({ theme: 'light' });
    world.notify('ui/notifications/initialized');
    world.request(1, 'ping');
    world.request(2, 'tools/list');
    world.request(3, 'ui/initialize');
    expect(world.posted.map(({ id, method }) => id ?? method)).toEqual([1, 2, 3]);
    expect(world.posted[1]).toMatchObject({ error: { code: -32600 } });
    expect(world.sent).toEqual([]);
    world.notify('ui/notifications/initialized');
    world.notify('ui/notifications/initialized');
    expect(world.posted.slice(3)).toEqual([
      { jsonrpc: '2.0', method: 'ui/notifications/tool-input', params: { arguments: { a: 1 } } },
      { jsonrpc: '2.0', method: 'ui/notifications/tool-result', params: { content: [] } },
    ]);
  });

  test('what happens later goes out at once, and a cancelled call is one that is cancelled', () => {
    const world = started();
    world.host.toolInput({});
    world.host.toolCancelled('The user cancelled it.');
    world.host.contextChanged({ theme: 'light' });
    expect(world.posted.map(({ method }) => method)).toEqual([
      'ui/notifications/tool-input',
      'ui/notifications/tool-cancelled',
      'ui/notifications/host-context-changed',
    ]);
  });

  test('an app that loads itself again begins anew, and its requests are cancelled', async () => {
    const world = started();
    world.host.toolInput({ a: 1 });
    world.request(1, 'tools/list');
    await settle();
    world.request(1, 'ui/initialize');
    expect(world.sent[0]!.cancelled).toBe(true);
    world.sent[0]!.answer({ result: { tools: [] } });
    await settle();
    expect(world.posted.filter(({ id }) => id === 1)).toHaveLength(1);
    world.notify('ui/notifications/initialized');
    expect(world.last).toMatchObject({ method: 'ui/notifications/tool-input' });
  });

  test('an app is told before it is closed, and may ask for it', async () => {
    const world = started();
    world.notify('ui/notifications/request-teardown');
    expect(world.closed).toBe(1);
    const done = world.host.teardown();
    expect(world.last).toMatchObject({ id: 'teardown', method: 'ui/resource-teardown' });
    world.say({ jsonrpc: '2.0', id: 'teardown', result: {} });
    await done;
    world.host.stop();
    world.posted.length = 0;
    world.request(1, 'ping');
    world.host.toolResult({});
    expect(world.posted).toEqual([]);
  });

  test('an app that was never ready need not be told', async () => {
    const world = new World();
    await world.host.teardown();
    expect(world.posted).toEqual([]);
  });
});

describe('requests', () => {
  test('a tool is called only if it is for apps', async () => {
    const world = started();
    world.refusals.set('hidden', 'no');
    world.request(1, 'tools/call', { name: 'hidden' });
    world.request(2, 'tools/call', { name: 'open', arguments: { a: 1 } });
    await settle();
    expect(world.posted).toMatchObject([{ id: 1, error: { code: -32000, message: 'hidden: no' } }]);
    expect(world.sent).toMatchObject([{ method: 'tools/call', params: { name: 'open', arguments: { a: 1 } } }]);
    world.sent[0]!.answer({ result: { content: [] } });
    await settle();
    expect(world.last).toEqual({ jsonrpc: '2.0', id: 2, result: { content: [] } });
  });

  test('a cancelled request reaches the server as such, and is not answered', async () => {
    const world = started();
    world.request(1, 'tools/call', { name: 'open' });
    await settle();
    world.notify('notifications/cancelled', { requestId: 1 });
    expect(world.sent[0]!.cancelled).toBe(true);
    world.sent[0]!.answer({ error: { code: 1, message: 'cancelled' } });
    await settle();
    expect(world.posted).toEqual([]);
  });

  test('one that is cancelled before it is sent is not sent', async () => {
    const world = started();
    world.request(1, 'tools/call', { name: 'open' });
    world.notify('notifications/cancelled', { requestId: 1 });
    await settle();
    expect(world.sent).toEqual([]);
  });

  test.each(['tools/list', 'resources/list', 'resources/templates/list', 'resources/read', 'prompts/list'])(
    '%s goes to the server',
    async (method) => {
      const world = started();
      world.request(1, method, { uri: 'x' });
      await settle();
      expect(world.sent).toMatchObject([{ method, params: { uri: 'x' } }]);
    },
  );

  test.each(['initialize', 'completion/complete', 'sampling/createMessage', 'ui/download-file', 'x', 'toString'])(
    '%s is not supported',
    (method) => {
      const world = started();
      world.request(1, method);
      expect(world.posted).toMatchObject([{ id: 1, error: { code: -32601 } }]);
      expect(world.sent).toEqual([]);
    },
  );

  test('an id can be used for one request at a time, and 32 requests may run', async () => {
    const world = started();
    for (let id = 0; id < 33; id += 1) world.request(id, 'tools/list');
    await settle();
    expect(world.sent).toHaveLength(32);
    expect(world.posted).toMatchObject([{ id: 32, error: { message: '32 requests are already running.' } }]);
    world.request(0, 'tools/list');
    await settle();
    expect(world.last).toMatchObject({ id: 0, error: { code: -32600 } });
  });

  test('ui/message, ui/update-model-context and logs are shown', () => {
    const world = started();
    world.request(1, 'ui/message', { role: 'user', content: { type: 'text', text: 'hello' } });
    world.request(4, 'ui/message', { role: 'user', content: [{ type: 'text', text: 'hello' }, { type: 'image' }] });
    world.request(2, 'ui/update-model-context', { content: [1] });
    world.request(3, 'ui/update-model-context', { content: [2] });
    world.notify('notifications/message', { level: 'info', data: 'a log' });
    expect(world.posted.map(({ id, result }) => [id, result])).toEqual([
      [1, {}],
      [4, {}],
      [2, {}],
      [3, {}],
    ]);
    expect(world.host.modelContext.value).toEqual({ content: [2] });
    expect(world.host.notes.value).toEqual([
      { number: 1, kind: 'message', title: 'Message as user', text: 'hello' },
      {
        number: 2,
        kind: 'message',
        title: 'Message as user',
        text: '[{"type":"text","text":"hello"},{"type":"image"}]',
      },
      { number: 3, kind: 'log', title: 'Log info', text: 'a log' },
    ]);
  });

  test('notes are cut, and the newest 20 are kept', () => {
    const world = started();
    for (let id = 1; id <= 30; id += 1) world.request(id, 'x'.repeat(10_000));
    world.notify('notifications/message', { level: 'info', data: 'y'.repeat(10_000) });
    const notes = world.host.notes.value;
    expect(notes).toHaveLength(20);
    expect(notes.at(-2)).toMatchObject({ number: 30, title: `${'x'.repeat(200)}…` });
    expect(notes.at(-1)).toMatchObject({ number: 31, text: `${'y'.repeat(500)}…` });
  });

  test('a link waits for the user, who opens or refuses it', () => {
    const world = started();
    for (const id of [1, 2, 3, 4]) world.request(id, 'ui/open-link', { url: `https://example.com/${id}` });
    expect(world.posted).toMatchObject([{ id: 4, error: { code: -32000 } }]);
    const [first, second] = world.host.links.value;
    expect(first!.url).toBe('https://example.com/1');
    first!.answer(true);
    first!.answer(true);
    second!.answer(false);
    expect(world.posted.slice(1)).toMatchObject([
      { id: 1, result: {} },
      { id: 2, error: { message: 'The user did not open the link.' } },
    ]);
    expect(world.host.links.value).toHaveLength(1);
  });

  test('a link of a view that has loaded itself again is forgotten, because its id may come again', () => {
    const world = started();
    world.request(2, 'ui/open-link', { url: 'https://example.com/' });
    const [link] = world.host.links.value;
    world.request(1, 'ui/initialize', {});
    link!.answer(true);
    expect(world.host.links.value).toEqual([]);
    expect(world.posted).toMatchObject([{ id: 1 }]);
  });

  test.each(['javascript:alert(1)', 'data:text/html,x', 'file:///x', 'x', 7, undefined])(
    'no link goes to %s',
    (url) => {
      const world = started();
      world.request(1, 'ui/open-link', { url: url as string });
      expect(world.posted).toMatchObject([{ id: 1, error: { code: -32602 } }]);
      expect(world.host.links.value).toEqual([]);
    },
  );

  test('the display mode stays inline', () => {
    const world = started();
    world.request(1, 'ui/request-display-mode', { mode: 'fullscreen' });
    expect(world.last).toMatchObject({ result: { mode: 'inline' } });
  });
});

describe('sizes', () => {
  test.each([
    [100.2, 101],
    [0, 0],
    [1e9, 2000],
    [-1, undefined],
    ['100', undefined],
    [null, undefined],
  ])('a height of %s becomes %s', (height, shown) => {
    const world = started();
    world.notify('ui/notifications/size-changed', { width: 1, height });
    expect(world.host.height.value).toBe(shown);
  });
});

describe('what is no message', () => {
  test.each([
    ['a text', 'x'],
    ['nothing', undefined],
    ['a list', [{ jsonrpc: '2.0', method: 'ping', id: 1 }]],
    ['another version', { jsonrpc: '1.0', id: 1, method: 'ping' }],
    ['an id that is an object', { jsonrpc: '2.0', id: {}, method: 'ping' }],
    ['a response without an id', { jsonrpc: '2.0', result: {} }],
    ['a map', new Map([['jsonrpc', '2.0']])],
  ])('%s is ignored, and noted', (_, message) => {
    const world = started();
    world.recorded.length = 0;
    world.say(message);
    expect(world.posted).toEqual([]);
    expect(world.recorded).toEqual([]);
    expect(world.host.notes.value).toMatchObject([{ kind: 'refused' }]);
  });

  test('all messages are recorded, in both directions', () => {
    const world = new World();
    world.request(1, 'ping');
    expect(world.recorded).toEqual([
      'app {"jsonrpc":"2.0","id":1,"method":"ping","params":{}}',
      'host {"jsonrpc":"2.0","id":1,"result":{}}',
    ]);
  });

  test('a message for the frame around the app is left out', () => {
    const world = started();
    world.recorded.length = 0;
    world.request(1, 'ui/notifications/sandbox-x');
    world.notify('ui/notifications/sandbox-resource-ready');
    expect([world.recorded, world.posted]).toEqual([[], []]);
  });

  test.each([
    ['200,000 integers', Array.from({ length: 200_000 }, (_, at) => at)],
    ['200,000 fractions', Array.from({ length: 200_000 }, (_, at) => Math.sqrt(at + 2))],
    ['1,500,000 Chinese characters', '中'.repeat(1_500_000)],
    ['4,000,000 letters with accents', 'é'.repeat(4_000_000)],
  ])('a message of %s is taken', (_, value) => {
    const world = started();
    world.request(1, 'ping', { value });
    expect([world.host.why.value, world.last]).toEqual([undefined, { jsonrpc: '2.0', id: 1, result: {} }]);
  });

  test.each(['[],', '{"a":{}},'])('a message full of %s is too large', (unit) => {
    const world = started();
    const values = unit.repeat(4_194_000 / unit.length).slice(0, -1);
    world.host.receive(`{"jsonrpc":"2.0","method":"x","params":{"values":[${values}]}}`, 5000);
    expect(world.host.why.value).toBe(TOO_LARGE);
  });

  test('an app that sends too many or too large messages is stopped', () => {
    const flood = started();
    for (let at = 0; at < 501; at += 1) flood.host.receive('{"jsonrpc":"2.0","method":"x"}', 5000);
    expect(flood.host.why.value).toBe('It sent more than 500 messages in a second.');
    const past = started();
    for (let at = 0; at < 501; at += 1) past.host.count(5000);
    expect(past.host.why.value).toBe('It sent more than 500 messages in a second.');
    const slow = started();
    for (let at = 0; at < 5000; at += 1) slow.host.receive('{"jsonrpc":"2.0","method":"x"}', 5000 + at * 3);
    expect(slow.host.status.value).toBe('ready');
    const large = started();
    large.say({ jsonrpc: '2.0', method: 'x', params: { text: 'x'.repeat(5_000_000) } });
    expect(large.host.why.value).toBe(TOO_LARGE);
    const many = started();
    many.say({ jsonrpc: '2.0', method: 'x', params: { many: Array.from({ length: 100_000 }, () => ({})) } });
    expect(many.host.why.value).toBe(TOO_LARGE);
    const notPassedOn = started();
    notPassedOn.host.receive(null, 5000);
    expect(notPassedOn.host.why.value).toBe(TOO_LARGE);
    const much = started();
    for (let at = 0; at < 6; at += 1)
      much.say({ jsonrpc: '2.0', method: 'x', params: { text: 'x'.repeat(3_000_000) } });
    expect(much.host.why.value).toBe('It sent more than 4 Mi characters in a second.');
    const nested = started();
    const deep = '['.repeat(30_000) + ']'.repeat(30_000);
    nested.host.receive(`{"jsonrpc":"2.0","method":"x","params":{"deep":${deep}}}`, 5000);
    expect(['ready', 'stopped']).toContain(nested.host.status.value);
  });
});
