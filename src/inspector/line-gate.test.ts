import { describe, expect, test, vi } from 'vitest';
import type { HeldMessage, RuleAction } from '../inspect/breakpoints/breakpoint-api.ts';
import { Breakpoints } from '../inspect/breakpoints/breakpoints.ts';
import { lineGates, type LineGate } from './line-gate.ts';

/** A pipe between a host and a server, with what came out of both ends. */
class Pipe {
  readonly kill = vi.fn<() => void>();
  readonly breakpoints = new Breakpoints({
    actions: ['hold', 'delay', 'duplicate', 'reorder', 'drop', 'corrupt', 'cut'],
    kill: this.kill,
  });
  readonly #gates = lineGates(this.breakpoints);
  readonly #out = { toServer: '', toClient: '' };
  readonly ended: string[] = [];

  constructor() {
    for (const name of ['toServer', 'toClient'] as const) {
      const { stream } = this.#gates[name];
      stream.on('data', (chunk: Buffer) => (this.#out[name] += chunk.toString('latin1')));
      stream.on('end', () => this.ended.push(name));
    }
    this.breakpoints.watched(true);
  }

  rule(filter: string, action: RuleAction | 'hold' | 'drop' | 'duplicate' | 'reorder' | 'kill' | 'corrupt'): void {
    const full = typeof action === 'string' ? { type: action } : action;
    this.breakpoints.setRule({ filter, action: full, enabled: true });
  }

  async host(...texts: string[]): Promise<void> {
    await write(this.#gates.toServer, texts);
  }

  async server(...texts: string[]): Promise<void> {
    await write(this.#gates.toClient, texts);
  }

  async end(name: 'toServer' | 'toClient'): Promise<void> {
    this.#gates[name].stream.end();
    await turn();
  }

  /** What the server got since the last look. */
  async atServer(): Promise<string> {
    return this.#look('toServer');
  }

  async atHost(): Promise<string> {
    return this.#look('toClient');
  }

  get held(): readonly HeldMessage[] {
    return this.breakpoints.state.held;
  }

  forward(index = 0, text?: string): void {
    this.breakpoints.forwardHeld({ id: this.held[index]!.id, text });
  }

  async #look(name: 'toServer' | 'toClient'): Promise<string> {
    await turn();
    const text = this.#out[name];
    this.#out[name] = '';
    return text;
  }
}

async function write({ stream }: LineGate, texts: readonly string[]): Promise<void> {
  for (const text of texts) {
    stream.write(Buffer.from(text, 'latin1'));
    await turn();
  }
}

const turn = (): Promise<void> => new Promise(setImmediate);

const call = (id: number, name = 'add'): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}"}}\n`;
const answer = (id: number, value = id): string => `{"jsonrpc":"2.0","id":${id},"result":{"value":${value}}}\n`;

describe('a pipe without rules', () => {
  test('passes each chunk at once, whatever it has', async () => {
    const pipe = new Pipe();
    for (const chunk of ['half a', ' line\n{', '\xff\xfe\n\n', 'no end']) {
      await pipe.host(chunk);
      expect(await pipe.atServer()).toBe(chunk);
    }
    await pipe.end('toServer');
    expect([await pipe.atServer(), pipe.ended]).toEqual(['', ['toServer']]);
  });

  test('passes the beginning of a line with the next chunk, once the rule is gone', async () => {
    const pipe = new Pipe();
    pipe.rule('tool:other', 'hold');
    await pipe.host('{"begun":');
    expect(await pipe.atServer()).toBe('');
    pipe.breakpoints.removeRule({ id: 1 });
    await pipe.host('1');
    expect(await pipe.atServer()).toBe('{"begun":1');
  });
});

describe('a held line', () => {
  test('goes on with the bytes that it had, and everything behind it waits', async () => {
    const pipe = new Pipe();
    pipe.rule('tool:add kind:request', 'hold');
    const odd = '{ "id" : 1 , "jsonrpc":"2.0", "method":"tools/call","params":{"name":"add","n":1.0}}\r\n';
    await pipe.host(odd.slice(0, 20), odd.slice(20), 'no message\n', '[]\n', call(2, 'sub'), call(3));
    expect(await pipe.atServer()).toBe('');
    expect(pipe.held).toMatchObject([
      { dir: 'c>s', kind: 'request', method: 'tools/call', tool: 'add', client: 'the host', behind: 4 },
      { tool: 'add', behind: 0 },
    ]);
    pipe.forward();
    expect(await pipe.atServer()).toBe(`${odd}no message\n[]\n${call(2, 'sub')}`);
    pipe.forward();
    expect(await pipe.atServer()).toBe(call(3));
  });

  test('goes on as it was edited, with its own id', async () => {
    const pipe = new Pipe();
    pipe.rule('tool:add', 'hold');
    await pipe.host(call(7));
    const { text } = pipe.breakpoints.heldMessage({ id: 1 });
    expect(JSON.parse(text)).toEqual({ method: 'tools/call', params: { name: 'add' } });
    pipe.forward(0, '{"method":"tools/call","params":{"name":"sub"}}');
    expect(await pipe.atServer()).toBe('{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"sub"}}\n');
    await pipe.server(answer(7));
    expect(pipe.held).toMatchObject([{ dir: 's>c', kind: 'result', method: 'tools/call', tool: 'add' }]);
    pipe.forward(0, '{"error":{"code":1,"message":"no"}}');
    expect(await pipe.atHost()).toBe('{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"no"}}\n');
  });

  test('cannot be edited if a number in it would change', async () => {
    const pipe = new Pipe();
    pipe.rule('tool:add', 'hold');
    const large = call(1).replace('}}', ',"n":12345678901234567890}}');
    await pipe.host(large);
    expect(() => pipe.forward(0, '{"method":"x"}')).toThrow('The number 12345678901234567890 would be sent as');
    pipe.forward();
    expect(await pipe.atServer()).toBe(large);
  });

  test('is answered by hand, between two lines of the server', async () => {
    const pipe = new Pipe();
    // It has begun before there is a rule, so it passes as it comes.
    const [begin, end] = ['{"jsonrpc":"2.0","method":"notifications/', 'message"}\n'];
    await pipe.server(begin);
    pipe.rule('tool:add', 'hold');
    await pipe.host(call(2));
    pipe.breakpoints.answerHeld({ id: 1, text: '{"result":{"by":"hand"}}' });
    expect(await pipe.atHost()).toBe(begin);
    await pipe.server(end + answer(9));
    expect(await pipe.atHost()).toBe(`${end}{"jsonrpc":"2.0","id":2,"result":{"by":"hand"}}\n${answer(9)}`);
    expect(await pipe.atServer()).toBe('');
  });

  test('is cancelled with its request, and says how long the host waited', async () => {
    const pipe = new Pipe();
    pipe.rule('tool:add', 'hold');
    const cancel =
      '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"too slow"}}\n';
    await pipe.host(call(1), cancel, call(2));
    expect(await pipe.atServer()).toBe(cancel);
    expect(pipe.held).toMatchObject([
      { state: 'cancelled', ended: { reason: 'too slow' } },
      { state: 'held', patience: expect.any(Number) as number },
    ]);
  });

  test.each(['toServer', 'toClient'] as const)('goes on when its direction ends (%s)', async (name) => {
    const pipe = new Pipe();
    pipe.rule('', 'hold');
    const line = name === 'toServer' ? call(1) : answer(1);
    await (name === 'toServer' ? pipe.host(line, 'rest') : pipe.server(line, 'rest'));
    await pipe.end(name);
    expect(await (name === 'toServer' ? pipe.atServer() : pipe.atHost())).toBe(`${line}rest`);
    expect(pipe.ended).toEqual([name]);
  });

  test('goes on when the last page closes', async () => {
    const pipe = new Pipe();
    pipe.rule('tool:add', 'hold');
    await pipe.host(call(1));
    pipe.breakpoints.watched(false);
    expect(await pipe.atServer()).toBe(call(1));
  });
});

describe('rules that act by themselves', () => {
  test('delay a message, and not the other calls', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
    try {
      const pipe = new Pipe();
      pipe.rule('tool:slow kind:result', { type: 'delay', ms: 1000 });
      await pipe.host(call(1, 'slow'), call(2));
      await pipe.server(answer(1), answer(2));
      expect(await pipe.atHost()).toBe(answer(2));
      vi.advanceTimersByTime(1000);
      expect(await pipe.atHost()).toBe(answer(1));
    } finally {
      vi.useRealTimers();
    }
  });

  test('send a request twice, and keep its second answer from the host', async () => {
    const pipe = new Pipe();
    pipe.rule('tool:add kind:request', 'duplicate');
    await pipe.host(call(1));
    const [first, second] = (await pipe.atServer()).split('\n');
    expect(`${first}\n`).toBe(call(1));
    const { id, ...copy } = JSON.parse(second!) as { id: string };
    expect(copy).toEqual({ jsonrpc: '2.0', method: 'tools/call', params: { name: 'add' } });
    pipe.breakpoints.removeRule({ id: 1 });
    await pipe.server(answer(1), `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{}}\n`);
    expect(await pipe.atHost()).toBe(answer(1));
  });

  test('send a notification twice, and an answer once', async () => {
    const pipe = new Pipe();
    pipe.rule('', 'duplicate');
    const note = '{"jsonrpc":"2.0","method":"notifications/message","params":{"data":1}}\n';
    await pipe.host(call(1), call(1));
    await pipe.server(note, answer(1));
    expect(await pipe.atHost()).toBe(note + note + answer(1));
    const ids = (await pipe.atServer()).split('\n', 4).map((line) => (JSON.parse(line) as { id: unknown }).id);
    expect(ids.filter((id) => id === 1)).toHaveLength(2);
    // The copies have ids of their own, and each of their answers is kept from the host.
    const copies = ids.filter((id) => id !== 1) as string[];
    expect(new Set(copies).size).toBe(2);
    await pipe.server(...copies.map((id) => `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{}}\n`));
    expect(await pipe.atHost()).toBe('');
  });

  test('delay the progress of the newest request with its token, with the other messages of its call', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
    try {
      const pipe = new Pipe();
      const slow = (id: number): string =>
        `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"slow","_meta":{"progressToken":"t"}}}\n`;
      const progress = (at: number): string =>
        `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":${at}}}\n`;
      pipe.rule('body:$.params.progress=1', { type: 'delay', ms: 1000 });
      await pipe.host(slow(1), slow(2));
      await pipe.server(progress(1), answer(1), answer(2));
      expect(await pipe.atHost()).toBe(answer(1));
      vi.advanceTimersByTime(1000);
      expect(await pipe.atHost()).toBe(progress(1) + answer(2));
      // The token of a request that was answered belongs to none.
      await pipe.server(progress(1), call(3));
      expect(await pipe.atHost()).toBe(call(3));
      vi.advanceTimersByTime(1000);
      expect(await pipe.atHost()).toBe(progress(1));
    } finally {
      vi.useRealTimers();
    }
  });

  test('let the next one overtake, drop, and kill', async () => {
    const pipe = new Pipe();
    pipe.rule('tool:late', 'reorder');
    pipe.rule('tool:lost', 'drop');
    pipe.rule('tool:last', 'kill');
    await pipe.host(call(1, 'late'), call(2), call(3, 'lost'), call(4, 'last'));
    expect(await pipe.atServer()).toBe(call(2) + call(1, 'late') + call(4, 'last'));
    expect(pipe.kill).toHaveBeenCalledOnce();
  });
});

describe('faults of answers', () => {
  test('corrupt: the line is not JSON', async () => {
    const pipe = new Pipe();
    pipe.rule('tool:add', 'corrupt');
    await pipe.host(call(1), call(2, 'sub'));
    await pipe.server(answer(2), answer(1), answer(1));
    expect(await pipe.atHost()).toBe(answer(2) + answer(1).replace('{', '!') + answer(1));
  });

  test('a request that is cancelled or dropped leaves none behind, so chunks pass as they come again', async () => {
    const pipe = new Pipe();
    pipe.rule('tool:add', 'corrupt');
    pipe.rule('tool:sub', 'drop');
    await pipe.host(call(1), call(2, 'sub'));
    await pipe.host('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}\n');
    for (const id of [1, 2]) pipe.breakpoints.removeRule({ id });
    await pipe.server('begun');
    expect(await pipe.atHost()).toBe('begun');
  });

  test('cut: the output ends after these bytes, and the server can go on', async () => {
    const pipe = new Pipe();
    pipe.rule('tool:add', { type: 'cut', bytes: 10 });
    await pipe.host(call(1));
    await pipe.server(answer(1), answer(2));
    expect(await pipe.atHost()).toBe(answer(1).slice(0, 10));
    expect(pipe.ended).toEqual(['toClient']);
    await pipe.end('toClient');
    await pipe.host(call(3, 'sub'));
    expect(await pipe.atServer()).toBe(call(1) + call(3, 'sub'));
  });

  test('cut: a shorter answer passes', async () => {
    const pipe = new Pipe();
    pipe.rule('tool:add', { type: 'cut', bytes: 1000 });
    await pipe.host(call(1));
    await pipe.server(answer(1));
    expect(await pipe.atHost()).toBe(answer(1));
  });
});

test('a line that comes byte by byte is one line', async () => {
  const pipe = new Pipe();
  pipe.rule('tool:other', 'hold');
  await pipe.server(...Array.from(answer(1)));
  expect(await pipe.atHost()).toBe(answer(1));
});

test('a line that is too long to be held passes as it comes', async () => {
  const pipe = new Pipe();
  pipe.rule('', 'hold');
  const long = 'x'.repeat(16 * 1024 * 1024 + 1);
  await pipe.host(long);
  expect((await pipe.atServer()).length).toBe(long.length);
  await pipe.host(`\n${call(1)}`);
  expect(await pipe.atServer()).toBe('\n');
  expect(pipe.held).toHaveLength(1);
});
