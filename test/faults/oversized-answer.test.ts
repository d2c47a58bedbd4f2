import { describe, expect, onTestFinished, test } from 'vitest';
import { ConnectionError, connect, type Client, type ClientOptions } from '../../src/client/index.ts';

/** A child with a response above the client's size limit: the official server, and ours in 2026-07-28. */
const SERVERS: readonly (readonly [string, string])[] = [
  ['an official server, which writes the id after the result', 'oversized-answer.mjs'],
  ['a server of 2026-07-28, which writes the id before the result', 'oversized-answer-modern.mjs'],
];

describe.each(SERVERS)('%s', (_, file) => {
  test('loses only one call to a response of 17 MiB', async () => {
    const errors: Error[] = [];
    const client = await connected(file, { onerror: (error) => errors.push(error) });
    const count = async (): Promise<string[]> => textOf(await client.callTool('count')).split(' ');
    const waits = client.callTool('wait');
    const error: unknown = await client.callTool('large').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ notExecuted: false, message: expect.stringContaining('at most 16777216 bytes') });
    const [pid, calls] = await count();
    expect(calls).toBe('2');
    expect(textOf(await waits)).toBe('waited');
    expect(await count()).toEqual([pid, '3']);
    expect(errors.map(({ message }) => message)).toEqual([
      'node wrote to its stdout: Invalid response: a message may have at most 16777216 bytes',
    ]);
  });
});

async function connected(file: string, options: ClientOptions): Promise<Client> {
  const fixture = new URL(`../fixtures/${file}`, import.meta.url).pathname;
  const client = await connect({ command: process.execPath, args: [fixture] }, options);
  onTestFinished(() => client.close());
  return client;
}

function textOf({ content }: Awaited<ReturnType<Client['callTool']>>): string {
  const [block] = content;
  return block?.type === 'text' ? block.text : '';
}
