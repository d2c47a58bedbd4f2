import { expect, onTestFinished, test, vi } from 'vitest';
import { createLog } from '../operate/logs.ts';
import { boundedCommand } from './bridge-target.ts';
import type { BridgeSettings } from './bridge-settings.ts';

const settings = {
  ownVariables: ['BRIDGE_KEY', 'BRIDGE_TOKEN'],
  log: { format: 'plain' },
} as unknown as BridgeSettings;
const command = { kind: 'command', command: 'x', args: [], env: {} } as const;
const log = await createLog({ level: 'silent' });

test('a command does not inherit the secrets of the bridge, unless its settings contain them', () => {
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.stubEnv('BRIDGE_KEY', 's3cret-key');
  vi.stubEnv('BRIDGE_TOKEN', 's3cret-token');
  const env = { BRIDGE_TOKEN: 's3cret-token', OTHER: '1' };
  const target = boundedCommand({ ...command, env }, 'x', '', settings, log);
  expect(target.env).toEqual({ BRIDGE_KEY: undefined, BRIDGE_TOKEN: 's3cret-token', OTHER: '1' });
});

test('a command does not inherit withheld variables', () => {
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.stubEnv('OTHERS_TOKEN', 's3cret-token');
  const withheld = ['OTHERS_TOKEN', 'NOT_SET'];
  const target = boundedCommand({ ...command, withheld }, 'x', '', settings, log);
  expect(Object.entries(target.env!)).toEqual([['OTHERS_TOKEN', undefined]]);
});
