import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { temporaryFolder } from '../../test/support/command-line.ts';
import { TestExchange } from '../../test/support/exchange.ts';
import { scripted } from '../../test/support/service.ts';
import type { Service } from '../core/exchange.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { createLog } from '../operate/logs.ts';
import { bridgeFleet } from './bridge-fleet.ts';
import type { BridgeSettings } from './bridge-settings.ts';

const fake = vi.hoisted(() => ({
  service: undefined as Service | undefined,
  served: undefined as Service | undefined,
  release: async (): Promise<void> => {},
}));
vi.mock('./bridge-target.ts', () => ({
  bridgeTo: async () => ({ bridge: { service: fake.service, close: () => {} } }),
}));
vi.mock('./bridge-serve.ts', () => ({
  serveBridge: async ({ service }: { service: Service }) => void (fake.served = service),
}));
vi.mock('./shutdown.ts', () => ({ atEnd: (release: () => Promise<void>) => void (fake.release = release) }));

test('a server that refuses each request with another message cannot fill the log', async () => {
  let count = 0;
  fake.service = scripted(
    {
      'tools/list': () => {
        throw RpcError.fromObject({ code: -32603, message: `no ${(count += 1)}` });
      },
    },
    { tools: {} },
  ).service;
  const file = path.join(temporaryFolder(), 'mcp.json');
  writeFileSync(file, JSON.stringify({ mcpServers: { a: { command: 'x' }, b: { command: 'y' } } }));
  const lines: string[] = [];
  const log = await createLog({ write: (line) => void lines.push(line) });
  const settings = { metrics: 'none', log: {}, tools: {}, stdio: true } as unknown as BridgeSettings;
  await bridgeFleet(file, settings, log);
  onTestFinished(() => fake.release());
  for (let each = 0; each < 100; each += 1) await fake.served!(new TestExchange('tools/list'));
  expect(count).toBe(200);
  expect(lines.filter((line) => line.includes('refuses tools/list')).length).toBe(2);
});
