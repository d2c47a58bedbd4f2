import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { McpServer, UserError } from 'everwire/server';
import { registerInputRequired } from './fixture-input-required.ts';
import { registerSkills } from './fixture-skills.ts';
import { registerStateless } from './fixture-stateless.ts';
import { registerGreeting, registerTasks } from './fixture-tasks.ts';

/**
 * The server that the official conformance suite requires: its scenarios call these tools, resources and prompts by
 * name and expect these texts. Run it with `npm run fixture:server -- --port 0`. With `--stdio` it serves one client
 * over stdin and stdout. `--eras legacy` or `--eras modern` limits it to the revisions of one era. `--stream-duration`
 * is in milliseconds, and 0 leaves streams open.
 */

/** Milliseconds. Long enough for every tool except the one that ends its stream before its response. */
const STREAM_DURATION = 500;

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '8000' },
    stdio: { type: 'boolean', default: false },
    eras: { type: 'string', default: 'both' },
    'stream-duration': { type: 'string', default: `${STREAM_DURATION}` },
  },
});

/** One red pixel. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
/** No samples: only a header of 44 bytes. */
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=';

const server = new McpServer({
  name: 'everwire-conformance-fixture',
  version: '1.0.0',
  instructions: 'Answers the scenarios of the official conformance suite.',
  // Any other value is refused.
  eras: values.eras as 'both' | 'legacy' | 'modern',
});

// Tools that answer at once.

server.tool('test_simple_text', { description: 'Answers text' }, () => 'This is a simple text response for testing.');

server.tool('test_image_content', { description: 'Answers an image' }, () => {
  return { type: 'image', data: PNG, mimeType: 'image/png' };
});

server.tool('test_audio_content', { description: 'Answers audio' }, () => {
  return { type: 'audio', data: WAV, mimeType: 'audio/wav' };
});

server.tool('test_embedded_resource', { description: 'Answers an embedded resource' }, () => {
  const text = 'This is an embedded resource content.';
  return { type: 'resource', resource: { uri: 'test://embedded-resource', mimeType: 'text/plain', text } };
});

server.tool('test_multiple_content_types', { description: 'Answers text, an image and an embedded resource' }, () => {
  const uri = 'test://mixed-content-resource';
  return [
    { type: 'text', text: 'Multiple content types test:' },
    { type: 'image', data: PNG, mimeType: 'image/png' },
    { type: 'resource', resource: { uri, mimeType: 'application/json', text: '{"test":"data","value":123}' } },
  ];
});

server.tool('test_error_handling', { description: 'Always fails' }, () => {
  throw new UserError('This tool intentionally returns an error for testing');
});

const jsonSchema = {
  description: 'Tool with JSON Schema 2020-12 features',
  input: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: {
      address: {
        $anchor: 'addressDef',
        type: 'object',
        properties: { street: { type: 'string' }, city: { type: 'string' } },
      },
    },
    properties: {
      name: { type: 'string' },
      address: { $ref: '#/$defs/address' },
      contactMethod: { type: 'string', enum: ['phone', 'email'] },
      phone: { type: 'string' },
      email: { type: 'string' },
    },
    allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
    if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
    then: { required: ['phone'] },
    else: { required: ['email'] },
    additionalProperties: false,
  },
} as const;
server.tool('json_schema_2020_12_tool', jsonSchema, (contact) => `Accepted: ${JSON.stringify(contact)}`);

// Tools that send notifications while they run.

server.tool('test_tool_with_logging', { description: 'Logs three times' }, async (_, ctx) => {
  await ctx.log('info', 'Tool execution started');
  await delay(50, undefined, { signal: ctx.signal });
  await ctx.log('info', 'Tool processing data');
  await delay(50, undefined, { signal: ctx.signal });
  await ctx.log('info', 'Tool execution completed');
  return 'Logged three messages.';
});

server.tool('test_tool_with_progress', { description: 'Reports its progress' }, async (_, ctx) => {
  await ctx.progress(0, 100);
  await delay(50, undefined, { signal: ctx.signal });
  await ctx.progress(50, 100);
  await delay(50, undefined, { signal: ctx.signal });
  await ctx.progress(100, 100);
  return 'Reported progress three times.';
});

server.tool('test_reconnection', { description: 'Works for longer than its stream stays open' }, async (_, ctx) => {
  await delay(2 * STREAM_DURATION, undefined, { signal: ctx.signal });
  return 'Answered on a stream that was closed and resumed.';
});

// Tools that ask the client.

const sampling = {
  description: "Asks the client's model",
  input: { type: 'object', properties: { prompt: { type: 'string' } }, required: ['prompt'] },
} as const;
server.tool('test_sampling', sampling, async ({ prompt }, ctx) => {
  const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: prompt } }];
  const { content } = await ctx.sample({ messages, maxTokens: 100 });
  const first = Array.isArray(content) ? content[0] : content;
  return `LLM response: ${first && 'text' in first ? first.text : JSON.stringify(content)}`;
});

const elicitation = {
  description: 'Asks the user for a name and an address',
  input: { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
} as const;
server.tool('test_elicitation', elicitation, async ({ message }, ctx) => {
  const { action, content } = await ctx.elicit({
    message,
    requestedSchema: {
      type: 'object',
      properties: {
        username: { type: 'string', description: "User's response" },
        email: { type: 'string', description: "User's email address" },
      },
      required: ['username', 'email'],
    },
  });
  return `User response: action: ${action}, content: ${JSON.stringify(content ?? {})}`;
});

/** Registers a tool that shows the user a form with these fields. */
function formTool(name: string, description: string, properties: Record<string, object>): void {
  server.tool(name, { description }, async (_, ctx) => {
    const requestedSchema = { type: 'object', properties, required: [] };
    const { action, content } = await ctx.elicit({ message: 'Please fill in this form', requestedSchema });
    return `Elicitation completed: action=${action}, content=${JSON.stringify(content ?? {})}`;
  });
}

formTool('test_elicitation_sep1034_defaults', 'Asks with a default for each field', {
  name: { type: 'string', default: 'John Doe' },
  age: { type: 'integer', default: 30 },
  score: { type: 'number', default: 95.5 },
  status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
  verified: { type: 'boolean', default: true },
});

const OPTIONS = ['option1', 'option2', 'option3'];
const titled = (titles: readonly string[]) => titles.map((title, index) => ({ const: `value${index + 1}`, title }));
formTool('test_elicitation_sep1330_enums', 'Asks with each way of writing an enumeration', {
  untitledSingle: { type: 'string', enum: OPTIONS },
  titledSingle: { type: 'string', oneOf: titled(['First Option', 'Second Option', 'Third Option']) },
  legacyEnum: {
    type: 'string',
    enum: ['opt1', 'opt2', 'opt3'],
    enumNames: ['Option One', 'Option Two', 'Option Three'],
  },
  untitledMulti: { type: 'array', items: { type: 'string', enum: OPTIONS } },
  titledMulti: { type: 'array', items: { anyOf: titled(['First Choice', 'Second Choice', 'Third Choice']) } },
});

// Resources.

const staticText = { name: 'static-text', description: 'A text', mimeType: 'text/plain' };
server.resource('test://static-text', staticText, () => 'This is the content of the static text resource.');

const staticBinary = { name: 'static-binary', description: 'An image', mimeType: 'image/png' };
server.resource('test://static-binary', staticBinary, () => Buffer.from(PNG, 'base64'));

const watched = { name: 'watched-resource', description: 'A text to subscribe to', mimeType: 'text/plain' };
server.resource('test://watched-resource', watched, () => 'Watched resource content.');

const template = { name: 'template', description: 'Data by its id', mimeType: 'application/json' };
server.resourceTemplate('test://template/{id}/data', template, ({ id }) => {
  return JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
});

// Prompts.

server.prompt('test_simple_prompt', { description: 'A text' }, () => 'This is a simple prompt for testing.');

const withArguments = {
  description: 'A text made of its arguments',
  arguments: {
    arg1: { description: 'First test argument', required: true, complete: ['paris', 'park', 'party'] },
    arg2: { description: 'Second test argument', required: true },
  },
} as const;
server.prompt('test_prompt_with_arguments', withArguments, ({ arg1, arg2 }) => {
  return `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`;
});

const withResource = {
  description: 'A text about an embedded resource',
  arguments: { resourceUri: { description: 'URI of the resource to embed', required: true } },
} as const;
server.prompt('test_prompt_with_embedded_resource', withResource, ({ resourceUri: uri }) => {
  const resource = { uri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' };
  return [
    { role: 'user', content: { type: 'resource', resource } },
    { role: 'user', content: { type: 'text', text: 'Please process the embedded resource above.' } },
  ];
});

server.prompt('test_prompt_with_image', { description: 'A text about an image' }, () => [
  { role: 'user', content: { type: 'image', data: PNG, mimeType: 'image/png' } },
  { role: 'user', content: { type: 'text', text: 'Please analyze the image above.' } },
]);

registerInputRequired(server);
registerStateless(server);
registerSkills(server);
registerGreeting(server);
// Legacy clients have no tasks, and would wait as long as these tools run.
if (values.eras !== 'legacy') registerTasks(server);

if (values.stdio) await server.stdio();
else {
  const streamDuration = Number(values['stream-duration']);
  const listener = await server.listen({ port: Number(values.port), streamDuration });
  console.error(`listening on ${listener.url}`);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void listener.close());
}
