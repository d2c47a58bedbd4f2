import type { McpServer } from 'everwire/server';

/** Adds tools whose calls are tasks: `test/languages/tasks.ts` says what they do. */
export function addErrand(server: McpServer): void {
  let cancelled = 0;
  const name = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } as const;
  server.tool('errand', { task: { required: true, pollIntervalMs: 20 } }, async (_, ctx) => {
    const { signal } = ctx;
    signal.addEventListener('abort', () => (cancelled += 1));
    const answer = await ctx.elicit({ message: 'Who are you?', schema: name });
    if (answer.action !== 'accept' || answer.content.name !== 'Nobody') return JSON.stringify(answer);
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve());
    });
    return 'never seen';
  });
  server.tool('cancelled-errands', {}, () => String(cancelled));
}
