import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { notification, type Message } from '../../jsonrpc/message.ts';
import { EventsPurged } from '../event-log.ts';
import type { TaskRecord } from '../task-store.ts';
import { embeddedState } from './embedded-state.ts';
import type { EmbeddedState } from './embedded-types.ts';

/** A store is damaged in many ways. What it returns then must be what was stored, and what is lost must be said. */

const root = mkdtempSync(path.join(tmpdir(), 'everwire-damage-'));
const whole = path.join(root, 'whole');
const SESSIONS = 150;
const EVENTS = 12;
const MESSAGES = Array.from({ length: EVENTS }, (_, n) => notification('m', { n, text: 'x'.repeat(n * 40) }));

const sessionOf = (n: number) => ({ initialize: { n, text: 'y'.repeat(n) }, logLevel: 'error' });
const taskOf = (n: number): TaskRecord => ({
  ...{ id: `task-${n}`, runner: 'one', status: 'completed', createdAt: BEGIN, lastUpdatedAt: BEGIN },
  ...{ ttlMs: null, pollIntervalMs: 1000, result: { n } },
});
const BEGIN = Date.now();
/** The id of the first event of each session's stream. */
const firsts: string[] = [];

beforeAll(async () => {
  const state = await embeddedState(whole);
  for (let n = 0; n < SESSIONS; n += 1) {
    await state.sessions.put(`session-${n}`, sessionOf(n));
    await state.tasks.create(taskOf(n));
    firsts.push(await state.events.open(`session-${n}`, 'a'));
    for (const message of MESSAGES) await state.events.append(`session-${n}`, 'a', message);
  }
  await state.close();
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Opens a damaged copy. Returns the state and its warnings. */
async function opened(name: string, damage: (file: string) => void) {
  const directory = path.join(root, name);
  cpSync(whole, directory, { recursive: true });
  damage(path.join(directory, 'state.mdb'));
  const warnings: string[] = [];
  const state = await embeddedState(directory, { onwarning: (message) => warnings.push(message) });
  return { state, warnings, directory };
}

async function eventsOf(state: EmbeddedState, n: number): Promise<Message[]> {
  const read: Message[] = [];
  for await (const { message } of state.events.after(`session-${n}`, firsts[n]!)) read.push(message!);
  return read;
}

/** How much is lost, and what is neither lost nor as it was stored. */
async function compared(state: EmbeddedState): Promise<{ missing: number; wrong: unknown[] }> {
  let missing = 0;
  const wrong: unknown[] = [];
  const compare = (found: unknown, stored: unknown): void => {
    if (found === undefined) missing += 1;
    else if (!isDeepStrictEqual(found, stored)) wrong.push(found);
  };
  for (let n = 0; n < SESSIONS; n += 1) {
    compare(await state.sessions.get(`session-${n}`), sessionOf(n));
    compare(await state.tasks.get(`task-${n}`, undefined), taskOf(n));
    const read = await eventsOf(state, n).catch((error: unknown) => {
      if (!(error instanceof EventsPurged)) wrong.push(error);
      return [];
    });
    // What is left may end early, but has no gap.
    compare(read, MESSAGES.slice(0, read.length));
    missing += EVENTS - read.length;
  }
  return { missing, wrong };
}

/** It can be used like any other. */
async function useAgain({ sessions, events }: EmbeddedState): Promise<void> {
  await sessions.put('new', sessionOf(1));
  const id = await events.open('new', 'b');
  await events.append('new', 'b', MESSAGES[1]);
  const read: Message[] = [];
  for await (const { message } of events.after('new', id)) read.push(message!);
  expect(read).toEqual([MESSAGES[1]]);
}

test('an undamaged store is opened without a warning', async () => {
  const { state, warnings } = await opened('good', () => {});
  expect([await compared(state), warnings]).toEqual([{ missing: 0, wrong: [] }, []]);
  await state.close();
});

// The last part of the file is free.
test.each([0, 1, 4096, 8192, 50_000, 0.25, 0.5, 0.8])('a file that was truncated to %d', async (size) => {
  const { state, warnings, directory } = await opened(`truncated-${size}`, (file) => {
    truncateSync(file, size > 0 && size < 1 ? Math.floor(statSync(file).size * size) : size);
  });
  expect((await compared(state)).wrong).toEqual([]);
  expect(warnings).toEqual([
    expect.stringMatching(/state\.mdb was damaged: \d+ entries could be read, and the others are lost; the damaged/),
  ]);
  expect(existsSync(path.join(directory, 'damaged.mdb'))).toBe(true);
  await useAgain(state);
  await state.close();
});

test.each([1, 2, 3, 5, 8, 13, 21, 34])('%i bytes that were changed', async (count) => {
  let seed = count;
  const random = (below: number): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  const { state, warnings, directory } = await opened(`changed-${count}`, (file) => {
    const bytes = readFileSync(file);
    for (let changed = 0; changed < count; changed += 1) {
      const at = random(bytes.length);
      bytes[at] = bytes[at]! ^ (1 + random(255));
    }
    writeFileSync(file, bytes);
  });
  const { missing, wrong } = await compared(state);
  expect(wrong).toEqual([]);
  // Nothing is lost without a warning.
  expect(missing > 0 && warnings.length === 0).toBe(false);
  await useAgain(state);
  await state.close();
  rmSync(directory, { recursive: true });
});

test('a part in the middle that was overwritten costs only what was in it', async () => {
  const { state, warnings } = await opened('hole', (file) => {
    const bytes = readFileSync(file);
    // A page of data. The pages at the beginning lead to all others.
    bytes.fill(0x5a, Math.floor(bytes.length / 2), Math.floor(bytes.length / 2) + 200);
    writeFileSync(file, bytes);
  });
  const { missing, wrong } = await compared(state);
  expect(wrong).toEqual([]);
  expect(missing).toBeLessThan((SESSIONS * EVENTS) / 4);
  expect(missing > 0 && warnings.length === 0).toBe(false);
  await useAgain(state);
  await state.close();
});

test('a file that is no store at all is set aside', async () => {
  const { state, warnings, directory } = await opened('foreign', (file) => writeFileSync(file, 'x'.repeat(100_000)));
  expect(warnings).toHaveLength(1);
  expect(readFileSync(path.join(directory, 'damaged.mdb'), 'utf8')).toBe('x'.repeat(100_000));
  await useAgain(state);
  await state.close();
});
