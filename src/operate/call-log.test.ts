import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { TestExchange } from '../../test/support/exchange.ts';
import { scripted } from '../../test/support/service.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { logCalls } from './call-log.ts';
import { createLog, type LogOptions } from './logs.ts';

async function logging(options: LogOptions = {}) {
  const lines: string[] = [];
  const log = await createLog({ ...options, write: (line) => lines.push(line) });
  return { log, lines };
}

const session = { id: 'session-1', signal: new AbortController().signal };

describe('a log of requests', () => {
  test.each(['plain', 'json'] as const)('does not fail a request if its %s lines cannot be written', async (format) => {
    const report = vi.spyOn(console, 'error').mockReturnValue();
    onTestFinished(() => report.mockRestore());
    const write = (): never => {
      throw new Error('the disk is full');
    };
    const log = await createLog({ format, level: 'debug', write });
    const { service } = scripted({ 'tools/call': () => ({ content: [] }) });
    expect(await logCalls(log, 'shop')(service)(new TestExchange('tools/call', { name: 'add' }))).toEqual({
      content: [],
    });
    await vi.waitFor(() => expect(report).toHaveBeenCalledWith(expect.stringContaining('the disk is full')));
  });

  test('writes one JSON object for each request, with all important facts', async () => {
    const { log, lines } = await logging({ format: 'json', level: 'debug' });
    const { service } = scripted({
      'tools/call': () => ({ content: [] }),
      'prompts/get': () => {
        throw new RpcError(-32_603, 'no');
      },
      'notifications/roots/list_changed': () => ({}),
    });
    const logged = logCalls(log, 'shop')(service);
    const meta = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01' };
    await logged(
      new TestExchange('tools/call', { name: 'add', _meta: meta }, { caller: { principal: 'ada', session } }),
    );
    await expect(logged(new TestExchange('prompts/get', { name: 'greet' }))).rejects.toThrow('no');
    await logged(new TestExchange('notifications/roots/list_changed'));
    const [call, prompt, notification] = lines.map((line) => JSON.parse(line));
    expect(lines.every((line) => line.endsWith('}\n'))).toBe(true);
    expect(call).toEqual({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      pid: process.pid,
      msg: 'request',
      request: expect.stringMatching(/^[\da-z]+-[\da-z]+$/),
      server: 'shop',
      method: 'tools/call',
      name: 'add',
      outcome: 'ok',
      ms: expect.any(Number),
      revision: '2025-11-25',
      session: 'session-1',
      principal: 'ada',
      trace: '0af7651916cd43dd8448eb211c80319c',
    });
    expect(prompt).toMatchObject({ level: 'warn', name: 'greet', outcome: 'error', code: -32_603 });
    expect(notification).toMatchObject({ level: 'debug', method: 'notifications/roots/list_changed' });
    expect(call.request).not.toBe(prompt.request);
  });

  test('contains no arguments, no results and no error messages', async () => {
    for (const format of ['json', 'plain'] as const) {
      const { log, lines } = await logging({ format, level: 'debug' });
      const { service } = scripted({
        'tools/call': ({ params }) => {
          if (params['name'] === 'fails') throw new RpcError(-32_602, 'not s3cret-message', { data: 's3cret-data' });
          return { content: [{ type: 'text', text: 's3cret-result' }] };
        },
      });
      const logged = logCalls(log, 'shop')(service);
      for (const name of ['works', 'fails']) {
        const params = { name, arguments: { key: 's3cret-argument' }, _meta: { key: 's3cret-meta' } };
        const headers = { authorization: 'Bearer s3cret-token', 'mcp-param-key': 's3cret-header' };
        await logged(new TestExchange('tools/call', params, { headers })).catch(() => {});
      }
      expect(lines).toHaveLength(2);
      expect(lines.join('')).not.toContain('s3cret');
    }
  });

  test('is limited in size to one line, whatever a caller sends', async () => {
    const { log, lines } = await logging();
    const { service } = scripted({ 'tools/call': () => ({ content: [] }) });
    await logCalls(log, 'shop')(service)(
      new TestExchange('tools/call', { name: `evil\u001B[2J\neverwire: all is well${'x'.repeat(100_000)}` }),
    );
    expect(lines).toHaveLength(1);
    expect(lines[0]!.length).toBeLessThan(500);
    // oxlint-disable-next-line no-control-regex -- they are what is looked for
    expect(lines[0]!.slice(0, -1)).not.toMatch(/[\u0000-\u001F]/);
  });
});
