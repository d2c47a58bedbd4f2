import { expect, test } from 'vitest';
import { scrubber } from '../auth/scrub.ts';
import { connect } from '../client/connect.ts';
import { compose, type Exchange, type Service } from '../core/exchange.ts';
import { Refusal } from '../core/refusal.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { statusOf } from '../wire/modern/translate/errors.ts';
import { cleanErrors } from './clean-errors.ts';

const SECRET = 's3cret-of-the-configuration';
const scrub = scrubber([SECRET]);

function served(service: Service, stderr = false): Promise<unknown> {
  return compose(service, cleanErrors({ scrub, stderr }))({} as Exchange);
}

test('an error keeps its code, and loses secrets in its message and its data', async () => {
  const data = { [SECRET]: [`a ${SECRET}`, 7, null], url: 'https://login.example/?state=x' };
  const failing = (): never => {
    throw new RpcError(-32_042, `no ${SECRET}, Bearer abcdefghij`, { data });
  };
  await expect(served(failing)).rejects.toMatchObject({
    code: -32_042,
    message: 'no [redacted], Bearer [redacted]',
    data: { '[redacted]': ['a [redacted]', 7, null], url: 'https://login.example/?state=x' },
  });
});

test('a refusal is still a refusal, and keeps its HTTP status', async () => {
  const failing = (): never => {
    throw Refusal.header(`Mcp-Param-Key is ${SECRET}`);
  };
  const error: unknown = await served(failing).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: -32_020, message: 'Header mismatch: Mcp-Param-Key is [redacted]' });
  expect(statusOf(error as RpcError, 'tools/call')).toBe(400);
});

test('an error without a secret stays unchanged', async () => {
  const error = new RpcError(-32_000, 'no', { data: { a: 1, b: ['c', []] } });
  await expect(served(() => Promise.reject(error))).rejects.toBe(error);
});

test('a secret is removed even if it is only in the data', async () => {
  const error = new RpcError(-32_000, 'no', { data: { a: SECRET } });
  await expect(served(() => Promise.reject(error))).rejects.toMatchObject({ message: 'no', data: { a: '[redacted]' } });
});

test('a secret is removed even if it is only a name in the data', async () => {
  const error = new RpcError(-32_000, 'no', { data: { [SECRET]: 1 } });
  await expect(served(() => Promise.reject(error))).rejects.toMatchObject({ data: { '[redacted]': 1 } });
});

test('a truncated secret is removed from the end of a text in the data', async () => {
  const error = new RpcError(-32_000, 'no', { data: { a: [`key=${SECRET.slice(0, 12)}`, 'more'] } });
  await expect(served(() => Promise.reject(error))).rejects.toMatchObject({ data: { a: ['key=[redacted]', 'more'] } });
});

test('a large tool error costs little, even if there are many secrets', async () => {
  const secrets = Array.from({ length: 100 }, (_, id) => `s3cr3t/"${id}-0123456789é<abc`);
  const structuredContent = { list: Array.from({ length: 190_000 }, (_, id) => `x${id % 10}`), key: secrets[7] };
  const texts = Array.from({ length: 20_000 }, (_, id) => ({ type: 'text', text: `the text number ${id}` }));
  const service = async (): Promise<JsonObject> => ({ content: texts, structuredContent, isError: true });
  const cleaned = compose(service, cleanErrors({ scrub: scrubber(secrets), stderr: false }));
  const before = process.cpuUsage().user;
  const result = await cleaned({} as Exchange);
  expect(process.cpuUsage().user - before).toBeLessThan(500_000);
  expect(result).toMatchObject({ content: texts, structuredContent: { key: '[redacted]' } });
});

test('a tool error is cleaned, but a successful result is not', async () => {
  const content = [{ type: 'text', text: SECRET }];
  const structuredContent = { why: SECRET };
  expect(await served(async () => ({ content, structuredContent, isError: true }))).toEqual({
    content: [{ type: 'text', text: '[redacted]' }],
    structuredContent: { why: '[redacted]' },
    isError: true,
  });
  expect(await served(async () => ({ content }))).toEqual({ content });
});

test('the stderr of a process is shown only to its owner, and without secrets', async () => {
  const stderr = `first\nlast ${SECRET}`;
  const cause = Object.assign(new Error(`node exited with code 3: last ${SECRET}`), {
    name: 'ChildEnded',
    summary: 'node exited with code 3',
    stderr,
  });
  const failing = (): never => {
    throw new RpcError(-32_000, `Connection closed: ${cause.message}\n${stderr}`, { cause });
  };
  await expect(served(failing)).rejects.toThrow(/^Connection closed: node exited with code 3$/);
  await expect(served(failing, true)).rejects.toThrow(
    'node exited with code 3: last [redacted]\nfirst\nlast [redacted]',
  );
});

test('the complete message is shown if a process wrote nothing to stderr', async () => {
  const message = 'node exited with code 3';
  const cause = Object.assign(new Error(message), { name: 'ChildEnded', summary: message, stderr: '' });
  const error = new RpcError(-32_000, `Connection closed:\n${message}`, { cause });
  await expect(served(() => Promise.reject(error))).rejects.toBe(error);
});

test.each([{ summary: 'a summary' }, { stderr: 'why' }])(
  'an error with only one of the two texts is not about an ended process: %j',
  async (texts) => {
    const cause = Object.assign(new Error('it failed'), texts);
    const error = new RpcError(-32_000, 'it failed\nwhy', { cause });
    await expect(served(() => Promise.reject(error))).rejects.toBe(error);
  },
);

test('the stderr of a process is removed although its control characters are escaped', async () => {
  const lines = ['first \u001b[31m', `\u200d${SECRET}\u202e \u{1f468}\u200d\u3164`, 'last \u2028\u009b\rx'];
  const script = `process.stdin.on('data', () => { process.stderr.write(${JSON.stringify(lines.join('\n'))}); process.exit(3); })`;
  const args = ['-e', script];
  const target = { command: process.execPath, args, stderr: 'capture' } as const;
  const failing = (): Promise<never> => connect(target, { onerror: () => {} }) as Promise<never>;
  await expect(failing()).rejects.toThrow('exited with code 3: last \\u2028\\u009b\\u000dx');
  const { message } = (await served(failing).catch((thrown: unknown) => thrown)) as Error;
  expect(message).toMatch(/exited with code 3/);
  expect(message).not.toMatch(/first|last|u001b|s3cret/);
});
