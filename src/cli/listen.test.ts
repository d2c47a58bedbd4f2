import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import type { Change } from '../client/handlers.ts';
import { listen, type ListenFlags } from './listen.ts';
import { Output } from './output.ts';

test('output that cannot be written ends the subscription, and is an error', async () => {
  const failing = new Writable({ write: (_chunk, _encoding, done) => done(new Error('the disk is full')) });
  failing.on('error', () => {});
  let announce!: (change: Change) => void;
  const client = {
    serverCapabilities: { tools: { listChanged: true } },
    subscribe: async (filter: unknown, onchange: typeof announce, { signal }: { signal: AbortSignal }) => {
      announce = onchange;
      const closed = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      return { filter, closed };
    },
  };
  const terminal = { print: () => announce({ type: 'tools' }) };
  const connected = { client, terminal, output: new Output({}, failing), signal: new AbortController().signal };
  const listening = listen([], {} as ListenFlags)(connected as never);
  await expect(listening).rejects.toThrow('cannot write the output: the disk is full');
});

test('changes that come before the server has accepted the subscription count too', async () => {
  const written: string[] = [];
  const stdout = new Writable({ write: (chunk, _encoding, done) => done(void written.push(String(chunk))) });
  const client = {
    serverCapabilities: { tools: { listChanged: true } },
    subscribe: (_filter: unknown, onchange: (change: Change) => void, { signal }: { signal: AbortSignal }) => {
      onchange({ type: 'tools' });
      return signal.aborted ? Promise.reject(signal.reason as Error) : Promise.reject(new Error('it was not enough'));
    },
  };
  const connected = { client, output: new Output({}, stdout), signal: new AbortController().signal };
  await listen([], { count: 1 } as ListenFlags)(connected as never);
  expect(written.join('')).toBe('changed tools\n');
});
