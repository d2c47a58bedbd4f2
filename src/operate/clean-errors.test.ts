import { expect, test } from 'vitest';
import { TestExchange } from '../../test/support/exchange.ts';
import { scrubber } from '../auth/scrub.ts';
import { compose, type Service } from '../core/exchange.ts';
import { Refusal } from '../core/refusal.ts';
import { Unavailable } from '../core/unavailable.ts';
import { RpcError } from '../jsonrpc/errors.ts';
import { statusOf } from '../wire/modern/translate/errors.ts';
import { cleanErrors } from './clean-errors.ts';

const SECRET = 's3cret-of-the-configuration';
const scrub = scrubber([SECRET]);

function served(service: Service, stderr = false): Promise<unknown> {
  return compose(service, cleanErrors({ scrub, stderr }))(new TestExchange('tools/call'));
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

test('a request that did not run still says so, with its HTTP status', async () => {
  const unavailable = new Unavailable(`no ${SECRET}`, { cause: undefined });
  const error: unknown = await served(() => Promise.reject(unavailable)).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(Unavailable);
  expect(error).toMatchObject({ message: 'no [redacted]', data: { notExecuted: true }, cause: unavailable });
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

test('large errors are cleaned in turns of the event loop', async () => {
  const part = SECRET.slice(0, 8).repeat(2000);
  const texts = Array.from({ length: 1000 }, (_, n) => `${part} ${n}`);
  let turns = 0;
  const count = (): void => {
    turns += 1;
    timer = setImmediate(count);
  };
  let timer = setImmediate(count);
  await expect(served(() => Promise.resolve({ isError: true, content: [], texts }))).resolves.toMatchObject({ texts });
  clearImmediate(timer);
  expect(turns).toBeGreaterThan(0);
});
