import { inputRequired, type InputRequest, type McpServer } from 'everwire/server';

/**
 * Tools that ask their caller in several rounds (2026-07-28, basic/patterns/mrtr): some return a result with questions,
 * and some ask while they run. Callers see no difference.
 */

const NAME = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } as const;
const OK = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] } as const;

const confirmation = {
  method: 'elicitation/create',
  params: { message: 'Please confirm', requestedSchema: OK },
} as const;

export function registerInputRequired(server: McpServer): void {
  // With a result: the handler ends, and runs again with the answers.

  const elicitation = { description: 'Asks for a name' };
  server.tool('test_input_required_result_elicitation', elicitation, (_, ctx) => {
    const name: unknown = ctx.inputResponses['user_name']?.['content']?.name;
    if (typeof name === 'string') return `Hello, ${name}!`;
    const params = { message: 'What is your name?', requestedSchema: NAME };
    return inputRequired({ inputRequests: { user_name: { method: 'elicitation/create', params } } });
  });

  server.tool('test_input_required_result_request_state', { description: 'Asks, and keeps a state' }, (_, ctx) => {
    if (ctx.requestState === 'asked' && 'confirm' in ctx.inputResponses) return 'state-ok';
    return inputRequired({ inputRequests: { confirm: confirmation }, requestState: 'asked' });
  });

  server.tool('test_input_required_result_tampered_state', { description: 'Trusts its state' }, (_, ctx) => {
    if (ctx.requestState === 'genuine') return 'The state came back as it was.';
    return inputRequired({ inputRequests: { confirm: confirmation }, requestState: 'genuine' });
  });

  const capabilities = { description: 'Asks what its caller can answer' };
  server.tool('test_input_required_result_capabilities', capabilities, (_, ctx) => {
    if (Object.keys(ctx.inputResponses).length > 0) return 'Got answers.';
    const inputRequests: Record<string, InputRequest> = {};
    if (ctx.can('elicitation')) inputRequests['confirm'] = confirmation;
    if (ctx.can('sampling')) {
      const messages = [{ role: 'user', content: { type: 'text', text: 'What is the capital of France?' } }];
      inputRequests['capital'] = { method: 'sampling/createMessage', params: { messages, maxTokens: 100 } };
    }
    return inputRequired({ inputRequests });
  });

  // With a question: the handler waits, and continues with the answer.

  server.tool('test_input_required_result_sampling', { description: 'Asks a model' }, async (_, ctx) => {
    const content = { type: 'text' as const, text: 'What is the capital of France?' };
    const question = { messages: [{ role: 'user' as const, content }], maxTokens: 100 };
    const answer = await ctx.sample(question, { key: 'capital_question' });
    return `The model says: ${JSON.stringify(answer.content)}`;
  });

  server.tool('test_input_required_result_list_roots', { description: 'Asks for roots' }, async (_, ctx) => {
    const roots = await ctx.roots({ key: 'client_roots' });
    return `The roots are: ${roots.map(({ uri }) => uri).join(', ')}`;
  });

  const multiple = { description: 'Asks three questions at once' };
  server.tool('test_input_required_result_multiple_inputs', multiple, async (_, ctx) => {
    const content = { type: 'text' as const, text: 'Generate a greeting' };
    const question = { messages: [{ role: 'user' as const, content }], maxTokens: 50 };
    const [name, greeting, roots] = await Promise.all([
      ctx.elicit({ message: 'What is your name?', schema: NAME }, { key: 'user_name' }),
      ctx.sample(question, { key: 'greeting' }),
      ctx.roots({ key: 'client_roots' }),
    ]);
    return JSON.stringify({ name: name.content, greeting: greeting.content, roots });
  });

  server.tool('test_input_required_result_multi_round', { description: 'Asks twice' }, async (_, ctx) => {
    const color = { type: 'object', properties: { color: { type: 'string' } }, required: ['color'] } as const;
    const first = await ctx.elicit({ message: 'Step 1: What is your name?', schema: NAME }, { key: 'step1' });
    const form = { message: 'Step 2: What is your favorite color?', schema: color };
    const second = await ctx.elicit(form, { key: 'step2' });
    return `${first.content?.name} likes ${second.content?.color}.`;
  });

  server.prompt('test_input_required_result_prompt', { description: 'Asks for its context' }, async (_, ctx) => {
    const schema = { type: 'object', properties: { context: { type: 'string' } }, required: ['context'] } as const;
    const form = { message: 'What context should the prompt use?', schema };
    const { content } = await ctx.elicit(form, { key: 'user_context' });
    return `The context is: ${content?.context ?? 'none'}`;
  });
}
