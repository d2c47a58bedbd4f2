import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { ask, call, down, fleetOf, toolServer } from '../../../test/support/fleet.ts';
import { parseConfig, readConfig, type FleetConfig } from '../config/config.ts';
import { openFleet, type ServerConnection } from './open-fleet.ts';

const FAILING: Record<'throws' | 'rejects', () => unknown> = {
  throws: () => {
    throw new Error('thrown by a callback');
  },
  rejects: () => Promise.reject(new Error('thrown by a callback')),
};
const HOW = Object.keys(FAILING) as (keyof typeof FAILING)[];

let write: ReturnType<typeof vi.spyOn>;
beforeEach(() => {
  write = vi.spyOn(console, 'error').mockImplementation(() => {});
});
afterEach(() => vi.restoreAllMocks());

const written = (): Promise<void> =>
  vi.waitFor(() => expect(write).toHaveBeenCalledWith(expect.stringContaining('thrown by a callback')));

const configOf = (...names: readonly string[]): FleetConfig => {
  const mcpServers = Object.fromEntries(names.map((name) => [name, { command: name, header: {} }]));
  return parseConfig(JSON.stringify({ mcpServers }), 'mcp.json', { env: {} });
};

test.each(HOW)('requests are answered if onwarning of a fleet %s', async (how) => {
  const broken = toolServer('broken', [], { 'tools/list': down });
  const { fleet } = fleetOf({ broken, b: toolServer('b', ['x']) }, { onwarning: FAILING[how] });
  expect(await ask(fleet, 'tools/list')).toMatchObject({ tools: [{ name: 'b__x' }] });
  expect(await call(fleet, 'b__x')).toBe('b: x');
  await written();
});

test.each(HOW)('an update is completed if onchange and onwarning of an open fleet each %s', async (how) => {
  const closed: string[] = [];
  const connect = (name: string): ServerConnection => ({
    service: toolServer(name, ['x']).service,
    close: () => {
      closed.push(name);
      throw new Error('not closed');
    },
  });
  const options = { connect, onchange: FAILING[how], onwarning: FAILING[how] };
  const fleet = await openFleet(configOf('a', 'b'), options);
  await fleet.update(configOf('b'));
  expect(closed).toEqual(['a']);
  await fleet.close();
  expect(closed).toEqual(['a', 'b']);
  await written();
});

test.each(HOW)('a file is followed although onwarning %s', async (how) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'everwire-fleet-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, 'mcp.json');
  writeFileSync(file, JSON.stringify({ mcpServers: { a: { command: 'a' } } }));
  const connect = (name: string): ServerConnection => ({ service: toolServer(name, []).service, close: () => {} });
  const fleet = await openFleet(readConfig(file), { connect, watch: true, onwarning: FAILING[how] });
  onTestFinished(() => fleet.close());
  writeFileSync(file, 'not JSON');
  await written();
  writeFileSync(file, JSON.stringify({ mcpServers: { b: { command: 'b' } } }));
  await vi.waitFor(() => expect([...fleet.services.keys()]).toEqual(['b']), { timeout: 10_000 });
});
