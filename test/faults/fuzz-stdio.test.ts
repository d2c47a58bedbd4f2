import * as fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { bridged } from '../interop/servers.ts';
import { onLine } from '../support/lines.ts';
import { descendants, isAlive, programs, startNode, type RunningProcess } from '../support/process.ts';
import { expectAnswer, classify, seed, texts } from './malformed.ts';

type JsonObject = Record<string, any>;

/** Milliseconds after which an answer counts as a hang. */
const HANG = 10_000;

let child: RunningProcess | undefined;

afterEach(() => child?.stop());

/** A client that writes bytes and collects what comes back. */
class Peer {
  readonly received: JsonObject[] = [];
  readonly #child: RunningProcess;
  #look = (): void => {};

  constructor(running: RunningProcess) {
    this.#child = running;
    onLine(running.child.stdout!, (line) => {
      this.received.push(...[JSON.parse(line)].flat());
      this.#look();
    });
  }

  write(bytes: Uint8Array | string): void {
    this.#child.child.stdin!.write(bytes);
  }

  say(message: JsonObject): void {
    this.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  until(condition: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no answer; there were ${this.received.length}`)), HANG);
      this.#look = () => {
        if (!condition()) return;
        clearTimeout(timer);
        resolve();
      };
      this.#look();
    });
  }

  /** Opens the session and removes the response from the output. */
  async open(protocolVersion: string): Promise<void> {
    const clientInfo = { name: 'fuzz', version: '1' };
    this.say({ id: 'open', method: 'initialize', params: { protocolVersion, capabilities: {}, clientInfo } });
    this.say({ method: 'notifications/initialized' });
    await this.until(() => this.received.length === 1);
    this.received.length = 0;
  }

  async answer(id: string): Promise<JsonObject> {
    await this.until(() => this.received.some((message) => message['id'] === id));
    return this.received.find((message) => message['id'] === id)!;
  }
}

/** The number of responses to a line: 1 or 0. */
function answersTo(line: Uint8Array): number {
  if (line.length === 0) return 0;
  const classified = classify(line);
  if (classified.kind === 'invalid') return classified.silent ? 0 : 1;
  return classified.kind === 'parse error' || classified.kind === 'request' ? 1 : 0;
}

const add = (id: string): JsonObject => ({
  id,
  method: 'tools/call',
  params: { name: 'add', arguments: { a: 1, b: 2 } },
});

test('10,000 random lines are answered correctly', async () => {
  console.info(`Random inputs have seed ${seed}.`);
  child = startNode([...programs.features, '--stdio']);
  const peer = new Peer(child);
  await peer.open('2025-11-25');
  const property = fc.asyncProperty(fc.array(texts, { minLength: 50, maxLength: 50 }), fc.nat(), async (lines, cut) => {
    peer.received.length = 0;
    const bytes = Buffer.concat(lines.flatMap((line) => [line, Buffer.from('\n')]));
    // In two chunks, split at a random place.
    const at = cut % bytes.length;
    peer.write(bytes.subarray(0, at));
    peer.write(bytes.subarray(at));
    peer.say({ id: 'after', method: 'ping' });
    const expected = 1 + lines.reduce((sum, line) => sum + answersTo(line), 0);
    await peer.until(() => peer.received.length >= expected);
    expect(peer.received).toHaveLength(expected);
    peer.received.forEach(expectAnswer);
  });
  await fc.assert(property, { numRuns: 200, seed, endOnFailure: true });

  peer.say(add('good'));
  expect(await peer.answer('good')).toMatchObject({ result: { structuredContent: { result: 3 } } });
  child.child.stdin!.end();
  expect(await child.exited).toEqual({ code: 0, signal: null });
});

test('a line above the size limit is answered and skipped', async () => {
  child = startNode([...programs.features, '--stdio']);
  const peer = new Peer(child);
  await peer.open('2025-11-25');
  peer.write('x'.repeat(20 * 1024 * 1024));
  await peer.until(() => peer.received.length === 1);
  peer.write(`${'x'.repeat(1024)}\n`);
  peer.say(add('good'));
  expect(await peer.answer('good')).toMatchObject({ result: { structuredContent: { result: 3 } } });
  expect(peer.received[0]).toEqual({
    jsonrpc: '2.0',
    error: { code: expect.any(Number), message: expect.any(String) },
  });
});

test('stdin may end in the middle of a line', async () => {
  child = startNode([...programs.features, '--stdio']);
  const peer = new Peer(child);
  await peer.open('2025-11-25');
  child.child.stdin!.end('{"jsonrpc":"2.0","id":1,"method":"pi');
  expect(await child.exited).toEqual({ code: 0, signal: null });
  expect(peer.received).toEqual([{ jsonrpc: '2.0', error: expect.objectContaining({ code: -32700 }) }]);
});

test('a bridge handles messages that it cannot pass on', async () => {
  child = startNode(bridged([...programs.features, '--stdio']).stdio);
  const peer = new Peer(child);
  await peer.open('2025-11-25');
  const [first] = descendants(child.pid);
  const property = fc.asyncProperty(fc.array(texts, { minLength: 50, maxLength: 50 }), async (lines) => {
    peer.received.length = 0;
    peer.write(Buffer.concat(lines.flatMap((line) => [line, Buffer.from('\n')])));
    peer.say({ id: 'after', method: 'ping' });
    const expected = 1 + lines.reduce((sum, line) => sum + answersTo(line), 0);
    await peer.until(() => peer.received.length >= expected);
    expect(peer.received).toHaveLength(expected);
    peer.received.forEach(expectAnswer);
  });
  await fc.assert(property, { numRuns: 40, seed, endOnFailure: true });
  const levels = 100_000;
  const deep = `${'['.repeat(levels)}${']'.repeat(levels)}`;
  peer.write(
    `{"jsonrpc":"2.0","id":"deep","method":"tools/call","params":{"name":"echo","arguments":{"text":${deep}}}}\n`,
  );
  expectAnswer(await peer.answer('deep'));
  peer.say(add('good'));
  expect(await peer.answer('good')).toMatchObject({ result: { structuredContent: { result: 3 } } });
  // It is still the same child. The second process is the watchdog, which ends the child if the bridge is killed.
  expect(descendants(child.pid)).toContain(first);
  child.child.stdin!.end();
  expect(await child.exited).toEqual({ code: 0, signal: null });
  expect(isAlive(first!)).toBe(false);
});
