import { connect } from 'everwire/client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { root, startProgram } from '../support/process.ts';
import { textOf } from '../support/reader.ts';
import { runtimes } from './runtime.ts';

/** The examples of docs/guides/mounting.md, with the web-standard servers of other runtimes. */
describe.each(runtimes)('the example for $name', ({ name, command }) => {
  const example = `${name.toLowerCase()}.mjs`;

  describe.skipIf(command === undefined)('', () => {
    test.each(['2025-11-25', '2026-07-28'] as const)(
      'sends what runs to its clients when it stops: %s',
      async (revision) => {
        const [program, ...args] = command!;
        const running = startProgram(program!, [...args, `${root}test/fixtures/slow-example.mjs`, example], {
          PORT: '0',
        });
        onTestFinished(async () => void (await running.stop()));
        const [, port] = await running.line(/port: (\d+)/);
        const client = await connect(`http://127.0.0.1:${port}/mcp`, { revision });
        onTestFinished(() => client.close());
        const calls = Array.from({ length: 20 }, () => client.callTool('slow'));
        await expect.poll(() => running.stderr.filter((line) => line === 'a call runs')).toHaveLength(20);
        running.child.kill('SIGTERM');
        for (const result of await Promise.all(calls)) expect(textOf(result)).toHaveLength(100_000);
        expect(await running.exited).toEqual({ code: 0, signal: null });
      },
    );
  });
});
