import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { deferred, listening, scripted, settled } from '../../../test/support/service.ts';
import { TestExchange } from '../../../test/support/exchange.ts';
import type { Exchange } from '../../core/exchange.ts';
import { parseConfig, readConfig, type FleetConfig } from '../config/config.ts';
import {
  openFleet,
  type FleetChange,
  type OpenFleet,
  type OpenFleetOptions,
  type ServerConnection,
} from './open-fleet.ts';

const config = (servers: object, everwire?: object): FleetConfig =>
  parseConfig(JSON.stringify({ mcpServers: servers, everwire }), 'mcp.json', { env: {} });

interface World {
  fleet: OpenFleet;
  /** The connections that were opened and closed, in order. */
  readonly log: string[];
  readonly warnings: string[];
  readonly changes: FleetChange[];
  readonly subscribers: Exchange[];
  /** Resolves when the next change is applied, or the next warning is reported. */
  next(): Promise<void>;
}

/** Servers with one tool each, which has the name of their command. */
async function opened(first: FleetConfig, options: Partial<OpenFleetOptions> = {}): Promise<World> {
  const [log, warnings, changes, subscribers]: [string[], string[], FleetChange[], Exchange[]] = [[], [], [], []];
  let wake = (): void => {};
  const fleet = await openFleet(first, {
    connect: (name, server) => {
      const tool = server.kind === 'command' ? server.command : 'none';
      if (tool === 'broken') throw new Error('no such command');
      log.push(`open ${name}`);
      const { service } = scripted(
        {
          'tools/list': () => ({ tools: [{ name: tool, inputSchema: { type: 'object' } }] }),
          'tools/call': () => ({ content: [name] }),
          'subscriptions/listen': listening(subscribers),
        },
        { tools: { listChanged: true } },
      );
      return { service, close: () => void log.push(`close ${name}`) };
    },
    onwarning: (warning) => {
      warnings.push(warning);
      wake();
    },
    onchange: (change) => {
      changes.push(change);
      wake();
    },
    ...options,
  });
  onTestFinished(() => fleet.close());
  return { fleet, log, warnings, changes, subscribers, next: () => new Promise((resolve) => (wake = resolve)) };
}

async function tools({ fleet }: World): Promise<string[]> {
  const { tools: all } = await fleet.service(new TestExchange('tools/list'));
  return all.map(({ name }: { name: string }) => name);
}

describe('the servers in a file', () => {
  test('are served together, and each separately', async () => {
    const fixture = await opened(config({ a: { command: 'x' }, b: { command: 'x' } }));
    expect(await tools(fixture)).toEqual(['a__x', 'b__x']);
    expect([...fixture.fleet.services.keys()]).toEqual(['a', 'b']);
    const { tools: own } = await fixture.fleet.services.get('b')!(new TestExchange('tools/list'));
    expect(own).toMatchObject([{ name: 'x' }]);
    await fixture.fleet.close();
    expect(fixture.log).toEqual(['open a', 'open b', 'close a', 'close b']);
    await expect(fixture.fleet.service(new TestExchange('tools/list'))).rejects.toThrow('The fleet is closed');
  });

  test('that are unchanged stay open when others are added, removed or changed', async () => {
    const fixture = await opened(config({ a: { command: 'x' }, b: { command: 'y' }, c: { command: 'z' } }));
    const listener = new TestExchange('subscriptions/listen', { notifications: { toolsListChanged: true } });
    void fixture.fleet.service(listener);
    await settled();
    const [kept] = fixture.subscribers;
    await fixture.fleet.update(
      config({ a: { command: 'x', tools: { rename: { x: 'first' } } }, c: { command: 'zz' }, d: { command: 'w' } }),
    );
    expect(fixture.log).toEqual(['open a', 'open b', 'open c', 'open c', 'open d', 'close b', 'close c']);
    expect(fixture.changes).toEqual([{ added: ['d'], removed: ['b'], changed: ['a', 'c'] }]);
    expect(await tools(fixture)).toEqual(['first', 'c__zz', 'd__w']);
    expect([...fixture.fleet.services.keys()]).toEqual(['a', 'c', 'd']);
    expect(listener.notified.map(({ method }) => method)).toContain('notifications/tools/list_changed');
    // Renaming its tools does not affect its connection, but the fleet subscribes again.
    expect(fixture.subscribers).not.toContain(kept);
    const again = await fixture.fleet.services.get('c')!(new TestExchange('tools/list'));
    expect(again['tools']).toMatchObject([{ name: 'zz' }]);
  });

  test('keep the connections on which the fleet has subscriptions', async () => {
    const fixture = await opened(config({ a: { command: 'x' }, b: { command: 'y' } }));
    void fixture.fleet.service(new TestExchange('subscriptions/listen', { notifications: { toolsListChanged: true } }));
    await settled();
    const [a, b] = fixture.subscribers;
    await fixture.fleet.update(config({ b: { command: 'y' }, a: { command: 'other' } }));
    await settled();
    expect(fixture.subscribers).toContain(b);
    expect(fixture.subscribers).not.toContain(a);
    expect(fixture.subscribers).toHaveLength(2);
  });

  test('served separately keep their names, and subscribers of a changed one are notified', async () => {
    const fixture = await opened(config({ a: { command: 'x' }, b: { command: 'y' } }));
    const own = fixture.fleet.services.get('a')!;
    const listener = new TestExchange('subscriptions/listen', { notifications: { toolsListChanged: true } });
    const over = own(listener);
    await settled();
    await fixture.fleet.update(config({ a: { command: 'other' }, b: { command: 'y' } }));
    await settled();
    expect(listener.notified.map(({ method }) => method)).toEqual([
      'notifications/subscriptions/acknowledged',
      'notifications/tools/list_changed',
    ]);
    expect((await own(new TestExchange('tools/list')))['tools']).toMatchObject([{ name: 'other' }]);
    await fixture.fleet.update(config({ b: { command: 'y' } }));
    expect(await over).toEqual({});
    await expect(own(new TestExchange('tools/list'))).rejects.toThrow('The server "a" was removed');
  });

  test('get new tool names when the file changes them', async () => {
    const servers = { a: { command: 'x' }, b: { command: 'y' } };
    const fixture = await opened(config(servers));
    await fixture.fleet.update(config(servers, { separator: '.' }));
    expect(await tools(fixture)).toEqual(['a.x', 'b.y']);
    expect(fixture.log).toEqual(['open a', 'open b']);
    // No server was added or removed.
    expect(fixture.changes).toEqual([]);
  });

  test('cannot put control characters into warnings', async () => {
    const fail = (): never => {
      throw new Error('\u001b[2J');
    };
    const connect = (name: string): ServerConnection => (name === 'a' ? fail() : { service: fail, close: fail });
    const fixture = await opened(config({ a: { command: 'x' }, b: { command: 'y' } }), { connect });
    await fixture.fleet.close();
    expect(fixture.warnings).toEqual([
      String.raw`the server "a" cannot be opened: \u001b[2J`,
      String.raw`the server "b" did not close: \u001b[2J`,
    ]);
  });

  test('leave out one that cannot be opened, until the next change of the file opens it', async () => {
    const fixture = await opened(config({ a: { command: 'broken' }, b: { command: 'y' } }));
    expect(fixture.warnings).toEqual(['the server "a" cannot be opened: no such command']);
    expect(await tools(fixture)).toEqual(['b__y']);
    await expect(fixture.fleet.services.get('a')!(new TestExchange('tools/list'))).rejects.toThrow('no such command');
    await fixture.fleet.update(config({ a: { command: 'broken' }, b: { command: 'y' } }));
    expect(fixture.warnings.filter((warning) => warning.includes('cannot be opened'))).toHaveLength(2);
  });

  test('change with one update after another, and not after closing', async () => {
    const fixture = await opened(config({ a: { command: 'x' } }));
    const one = fixture.fleet.update(config({ b: { command: 'y' } }));
    const two = fixture.fleet.update(config({ c: { command: 'z' } }));
    await Promise.all([one, two]);
    expect(fixture.log).toEqual(['open a', 'open b', 'close a', 'open c', 'close b']);
    const closing = fixture.fleet.close();
    await Promise.all([closing, fixture.fleet.update(config({ d: { command: 'w' } }))]);
    expect(fixture.log.at(-1)).toBe('close c');
  });

  test('that cannot be used together are refused, and none is opened', async () => {
    const fixture = await opened(config({ a: { command: 'x' } }));
    const twice = config({ b: { command: 'y' } });
    const servers = [...twice.servers, ...twice.servers];
    await expect(fixture.fleet.update({ ...twice, servers })).rejects.toThrow(
      'the names "b" and "b" have the same letters and digits',
    );
    expect(fixture.log).toEqual(['open a']);
    expect(await tools(fixture)).toEqual(['x']);
  });
});

test('the warnings of a configuration are reported when it is applied', async () => {
  const fixture = await opened(config({ a: { command: 'x', header: {} } }));
  expect(fixture.warnings).toEqual([
    'mcp.json: line 1, column 35: mcpServers.a.header is ignored (did you mean "headers"?)',
  ]);
});

describe('a file that changes', () => {
  test('is applied if it is valid', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'everwire-fleet-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = path.join(folder, 'mcp.json');
    const write = (servers: object | string): void =>
      writeFileSync(file, typeof servers === 'string' ? servers : JSON.stringify({ mcpServers: servers }));
    write({ a: { command: 'x' } });
    const fixture = await opened(readConfig(file), { watch: true });
    let next = fixture.next();
    write({ a: { command: 'x' }, b: { command: 'y' } });
    await next;
    expect(await tools(fixture)).toEqual(['a__x', 'b__y']);
    next = fixture.next();
    write('{ "mcpServers": { "a": ');
    await next;
    expect(fixture.warnings).toEqual([
      `${file}: this is not valid JSON: the file ends too early; the servers stay unchanged`,
    ]);
    expect(await tools(fixture)).toEqual(['a__x', 'b__y']);
    next = fixture.next();
    write({ a: { command: 'x' }, b: { command: 'y' } });
    await next;
    expect(fixture.changes.at(-1)).toEqual({ added: [], removed: [], changed: [] });
    next = fixture.next();
    rmSync(file);
    await next;
    expect(fixture.warnings.at(-1)).toBe(`${file}: there is no such file or folder; the servers stay unchanged`);
    next = fixture.next();
    write({ b: { command: 'y' } });
    await next;
    expect(await tools(fixture)).toEqual(['y']);
    expect(fixture.log).toEqual(['open a', 'open b', 'close a']);
  });

  test('is applied in its newest version, if it has changed several times while a server ends', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const folder = mkdtempSync(path.join(tmpdir(), 'everwire-fleet-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = path.join(folder, 'mcp.json');
    const write = (command: string): void => {
      writeFileSync(file, JSON.stringify({ mcpServers: { a: { command } } }));
      vi.advanceTimersByTime(1000);
    };
    write('first');
    const commands: string[] = [];
    const { promise: ended, resolve: end } = deferred();
    const fixture = await opened(readConfig(file), {
      watch: true,
      connect: (_, server) => {
        if (server.kind === 'command') commands.push(server.command);
        return { service: scripted({}).service, close: () => ended };
      },
    });
    let next = fixture.next();
    write('second');
    await next;
    for (const command of ['third', 'fourth', 'fifth']) write(command);
    next = fixture.next();
    end();
    await next;
    expect(commands).toEqual(['first', 'second', 'fifth']);
    next = fixture.next();
    write('sixth');
    await next;
    expect(commands.at(-1)).toBe('sixth');
  });
});
