import { McpServer } from 'everwire/server';

export const server = new McpServer({ name: 'Demo', version: '1.0.0' });

const add = {
  description: 'Add two numbers',
  input: { type: 'object', properties: { a: { type: 'integer' }, b: { type: 'integer' } }, required: ['a', 'b'] },
  output: { type: 'object', properties: { result: { type: 'integer' } }, required: ['result'] },
} as const;
server.tool('add', add, ({ a, b }) => a + b);

const greeting = { name: 'greeting', description: 'Get a personalized greeting', mimeType: 'text/plain' };
server.resourceTemplate('greeting://{name}', greeting, ({ name }) => `Hello, ${name}!`);

const styles: Record<string, string> = {
  friendly: 'Please write a warm, friendly greeting',
  formal: 'Please write a formal, professional greeting',
  casual: 'Please write a casual, relaxed greeting',
};
const greetUser = {
  description: 'Generate a greeting prompt',
  arguments: { name: { required: true }, style: { complete: Object.keys(styles) } },
} as const;
server.prompt('greet_user', greetUser, ({ name, style }) => {
  return `${styles[style ?? ''] ?? styles['friendly']} for someone named ${name}.`;
});
