import { setTimeout as delay } from 'node:timers/promises';
import { ErrorCode, RpcError, UserError, type McpServer } from 'everwire/server';

/** Registers the tool that shows the suite's task scenarios what is not a task. */
export function registerGreeting(server: McpServer): void {
  const greeting = {
    description: 'Greets, and is never a task',
    input: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
  } as const;
  server.tool('greet', greeting, ({ name }) => `Hello, ${name}!`);
}

/** Registers what the suite's scenarios for the extension `io.modelcontextprotocol/tasks` require. */
export function registerTasks(server: McpServer): void {
  const slow = {
    description: 'Works for so many seconds',
    input: {
      type: 'object',
      properties: { seconds: { type: 'number' }, label: { type: 'string' } },
      required: ['seconds'],
    },
    task: { pollIntervalMs: 200 },
  } as const;
  server.tool('slow_compute', slow, async ({ seconds, label }, ctx) => {
    await delay(seconds * 1000, undefined, { signal: ctx.signal });
    return `Computed ${label ?? 'nothing in particular'} for ${seconds} s`;
  });

  const failing = { description: 'Fails after a second', task: { required: true, pollIntervalMs: 200 } };
  server.tool('failing_job', failing, async (_, ctx) => {
    await delay(1000, undefined, { signal: ctx.signal });
    throw new UserError('This job fails');
  });

  const refused = { description: 'Ends with an error of the protocol', task: { pollIntervalMs: 200 } };
  server.tool('protocol_error_job', refused, () => {
    throw new RpcError(ErrorCode.InternalError, 'This job breaks');
  });

  const confirming = {
    description: 'Asks before it deletes',
    input: { type: 'object', properties: { filename: { type: 'string' } }, required: ['filename'] },
    task: { pollIntervalMs: 200 },
  } as const;
  server.tool('confirm_delete', confirming, async ({ filename }, ctx) => {
    const { action, content } = await ctx.elicit({
      message: `Delete ${filename}?`,
      schema: { type: 'object', properties: { confirm: { type: 'boolean' } }, required: ['confirm'] },
    });
    return action === 'accept' && content.confirm ? `Deleted ${filename}` : `Kept ${filename}`;
  });

  const asking = { description: 'Asks two things at once', task: { pollIntervalMs: 200 } };
  server.tool('multi_input', asking, async (_, ctx) => {
    const ask = (message: string) =>
      ctx.elicit({ message, schema: { type: 'object', properties: { name: { type: 'string' } } } });
    const answers = await Promise.all([ask('What is the first name?'), ask('What is the second name?')]);
    return answers.map(({ content }) => content?.name ?? 'nobody').join(' and ');
  });

  const later = {
    description: 'Asks first, and becomes a task then',
    task: { required: true, start: 'by-handler', pollIntervalMs: 200 },
  } as const;
  server.tool('test_tool_with_task', later, async (_, ctx) => {
    const { content } = await ctx.elicit(
      {
        message: 'What is your name?',
        schema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
      },
      { key: 'user_name' },
    );
    await ctx.startTask();
    return `Hello, ${content?.name ?? 'nobody'}!`;
  });
}
