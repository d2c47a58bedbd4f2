import { expect, test, vi } from 'vitest';
import { scripted } from '../../../../test/support/service.ts';
import { opened } from '../../../../test/support/wire.ts';
import type { JsonObject } from '../../../jsonrpc/message.ts';

const text = { type: 'text', text: 'a' };
/** Questions whose blocks or options repeat a text of ten million characters in all. */
const sampling = {
  method: 'sampling/createMessage',
  params: {
    maxTokens: 1,
    messages: [{ role: 'user', extra: 'x'.repeat(10_000), content: Array.from({ length: 1000 }, () => text) }],
  },
};
const long = {
  type: 'array',
  description: 'x'.repeat(10_000),
  items: { enum: Array.from({ length: 1000 }, (_, index) => `${index}`) },
};
const many = { type: 'array', items: { enum: Array.from({ length: 15_000 }, (_, index) => `${index}`) } };
const form = (field: JsonObject) => ({
  method: 'elicitation/create',
  params: { mode: 'form', message: 'm', requestedSchema: { type: 'object', properties: { field } } },
});

test.each([
  ['messages with several blocks', sampling, { role: 'assistant', model: 'm', content: text }],
  ['forms with long texts', form(long), { action: 'decline' }],
  ['forms with many options', form(many), { action: 'decline' }],
])('%s that are asked together become no larger than one of them may', async (_, question, answer) => {
  const { service } = scripted({
    'tools/call': ({ params: { name, inputResponses } }) =>
      inputResponses
        ? { content: [] }
        : { resultType: 'input_required', inputRequests: { a: question, ...(name === 'two' && { b: question }) } },
  });
  const { client } = await opened(service, {
    revision: '2025-06-18',
    capabilities: { sampling: {}, elicitation: {} },
  });
  const next = (): Promise<any> => vi.waitFor(() => client.next());
  const answered = async (id: number): Promise<any> => {
    for (;;) {
      const message = await next();
      if (message.id === id && message.method === undefined) return message;
    }
  };
  await client.send({ id: 1, method: 'tools/call', params: { name: 'two' } });
  expect((await answered(1)).error.message).toContain('too long for the revision of the client');
  for (const id of [2, 3]) {
    client.take();
    await client.send({ id, method: 'tools/call', params: { name: 'one' } });
    const asked = await next();
    expect(asked).toMatchObject({ method: question.method });
    await client.send({ id: asked.id, result: answer });
    expect(await answered(id)).toMatchObject({ result: { content: [] } });
  }
});
