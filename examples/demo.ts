import { McpServer } from 'everwire/server';

export const server = new McpServer({ name: 'Demo', version: '1.0.0' });

server.tool(
  'add',
  {
    description: 'Add two numbers',
    input: { type: 'object', properties: { a: { type: 'integer' }, b: { type: 'integer' } }, required: ['a', 'b'] },
    output: { type: 'object', properties: { result: { type: 'integer' } }, required: ['result'] },
  },
  ({ a, b }) => a + b,
);

const greeting = { name: 'greeting', description: 'Get a personalized greeting', mimeType: 'text/plain' };
server.resourceTemplate('greeting://{name}', greeting, ({ name }) => `Hello, ${name}!`);

const requests = {
  friendly: 'Please write a warm, friendly greeting',
  formal: 'Please write a formal, professional greeting',
  casual: 'Please write a casual, relaxed greeting',
};
const styles = new Map(Object.entries(requests));

server.prompt(
  'greet_user',
  {
    description: 'Generate a greeting prompt',
    arguments: { name: { required: true }, style: { complete: [...styles.keys()] } },
  },
  ({ name, style = 'friendly' }) => `${styles.get(style) ?? requests.friendly} for someone named ${name}.`,
);
