import { expect, onTestFinished, test } from 'vitest';
import { scripted } from '../../test/support/service.ts';
import { TestExchange } from '../../test/support/exchange.ts';
import { memoryTransportPair } from '../transport/memory.ts';
import { serve } from '../wire/serve.ts';
import { createBridge, type Bridge, type BridgeOptions } from './bridge.ts';

function bridgeTo(target: BridgeOptions['target']): { bridge: Bridge; errors: string[] } {
  const errors: string[] = [];
  const bridge = createBridge({ target, onerror: ({ message }) => void errors.push(message) });
  onTestFinished(() => bridge.close());
  return { bridge, errors };
}

const fails = async ({ service }: Bridge): Promise<void> => {
  await expect(service(new TestExchange('tools/call', { name: 'a' }))).rejects.toThrow('annot');
};

test('an unreachable server is reported once, and again after it was reachable', async () => {
  let down = true;
  const ends: { close(): Promise<void> }[] = [];
  const { bridge, errors } = bridgeTo(() => {
    const [near, far] = memoryTransportPair();
    ends.push(far);
    if (down) {
      void far.close();
      return near;
    }
    void serve(scripted({ 'tools/call': () => ({ content: [] }) }).service, far, { eras: 'legacy' });
    return near;
  });
  await fails(bridge);
  await fails(bridge);
  const outage = expect.stringContaining('Requests to the server fail: Cannot connect: ');
  expect(errors).toEqual([outage]);
  down = false;
  await bridge.service(new TestExchange('tools/call', { name: 'a' }));
  down = true;
  await ends.at(-1)!.close();
  await fails(bridge);
  await fails(bridge);
  expect(errors.slice(1)).toEqual([expect.stringContaining('The connection to the server was lost'), outage]);
});

test('an unreachable URL is reported with its address', async () => {
  const { bridge, errors } = bridgeTo('http://127.0.0.1:9/mcp');
  await fails(bridge);
  await fails(bridge);
  expect(errors).toEqual([
    'Requests to the server fail: http://127.0.0.1:9/mcp cannot be reached: connect ECONNREFUSED 127.0.0.1:9 (nothing listens there: check that the server runs, and the port)',
  ]);
});
