import { setTimeout as delay } from 'node:timers/promises';
import type { McpServer } from 'everwire/server';

/** Features that show whether a server follows 2026-07-28: streams, log levels, list changes and headers. */
export function registerStateless(server: McpServer): void {
  const name = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } as const;

  server.tool('test_missing_capability', { description: 'Cannot do without sampling' }, async (_, ctx) => {
    const content = { type: 'text' as const, text: 'Say anything.' };
    await ctx.sample({ messages: [{ role: 'user', content }], maxTokens: 10 });
    return 'The caller has a model.';
  });

  server.tool('test_streaming_elicitation', { description: 'Asks on a stream' }, async (_, ctx) => {
    // Longer than the server waits before it opens a stream.
    await delay(150, undefined, { signal: ctx.signal });
    const { action } = await ctx.elicit({ message: 'What is your name?', schema: name }, { key: 'user_name' });
    return `The answer: ${action}`;
  });

  server.tool('test_logging_tool', { description: 'Logs a message' }, async (_, ctx) => {
    await ctx.log('info', 'A message for those who asked for messages');
    return 'Logged one message.';
  });

  // These changes keep the length of the lists, because other scenarios count the entries.

  let changes = 0;
  const changingTool = server.tool('test_changing_tool', { description: 'Never changed' }, () => 'Unchanged.');
  server.tool('test_trigger_tool_change', { description: 'Changes the list of tools' }, () => {
    changingTool.update({ description: `Changed, as change ${++changes}` });
    return 'The list of tools has changed.';
  });
  const changingPrompt = server.prompt('test_changing_prompt', { description: 'Never changed' }, () => 'Unchanged.');
  server.tool('test_trigger_prompt_change', { description: 'Changes the list of prompts' }, () => {
    changingPrompt.update({ description: `Changed, as change ${++changes}` });
    return 'The list of prompts has changed.';
  });

  const mirrored = {
    description: 'Takes arguments that headers say again',
    input: {
      type: 'object',
      properties: {
        region: { type: 'string', 'x-mcp-header': 'Region' },
        priority: { type: 'integer', 'x-mcp-header': 'Priority' },
        verbose: { type: 'boolean', 'x-mcp-header': 'Verbose' },
      },
      required: ['region', 'priority', 'verbose'],
    },
  } as const;
  server.tool('test_custom_headers', mirrored, ({ region, priority, verbose }) => {
    return `Region ${region}, priority ${priority}, ${verbose ? 'verbose' : 'terse'}`;
  });
}
