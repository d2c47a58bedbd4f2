import { connect } from 'everwire/client';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { filesShownIn } from '../test/support/shown.ts';

describe('the page about operating', () => {
  const files = filesShownIn('docs/operating.md');

  test('shows the files of the example', () => {
    expect(files.map(({ file }) => file)).toEqual(['examples/operate.ts']);
  });

  test.each(files)('shows $file unchanged', ({ shown, actual }) => {
    expect(shown).toBe(actual);
  });
});

test('the example has health checks, metrics and logs, and shuts down', async () => {
  vi.stubEnv('PORT', '0');
  const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  onTestFinished(() => {
    vi.unstubAllEnvs();
    written.mockRestore();
  });
  const { listener, stop } = await import('./operate.ts');
  onTestFinished(stop);
  const at = (path: string): Promise<Response> => fetch(new URL(path, listener.url));
  expect(await (await at('/readyz')).json()).toEqual({ status: 'ready' });

  const client = await connect(listener.url);
  onTestFinished(() => client.close());
  expect((await client.callTool('price', { name: 'tea' })).content).toEqual([{ type: 'text', text: '3' }]);
  expect(await (await at('/metrics')).text()).toContain(
    'everwire_calls_total{server="shop",method="tools/call",outcome="ok"} 1',
  );
  const lines = written.mock.calls.map(([line]) => JSON.parse(String(line)));
  expect(lines[0]).toMatchObject({ level: 'info', msg: 'listening', url: listener.url });
  expect(lines).toContainEqual(expect.objectContaining({ msg: 'request', method: 'tools/call', name: 'price' }));

  const stopped = stop();
  await stopped;
  await expect(at('/healthz')).rejects.toThrow('fetch failed');
});
