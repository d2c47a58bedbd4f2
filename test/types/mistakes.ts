import { image, McpServer, UserError, type CallToolResult } from 'everwire/server';
import { z } from 'zod';

/** What the compiler accepts from users of other libraries, and the usual mistakes that it refuses. */
export const server = new McpServer({ name: 'types', version: '1.0.0' });

const png = new Uint8Array([137, 80]);
const output = z.object({ n: z.number() });
interface Animal {
  type: string;
  name: string;
}
declare const animals: Animal[];
declare const json: Record<string, unknown>;
declare const parsed: unknown;
declare const forwarded: CallToolResult;

// The official SDK's results.
server.tool('literal', { output }, () => ({ content: [{ type: 'text', text: '1' }], structuredContent: { n: 1 } }));
server.tool('async', { input: z.object({ q: z.string() }), output }, async ({ q }) => {
  if (q === '') return { content: [{ type: 'text', text: 'q is empty' }], isError: true };
  return { content: [{ type: 'text', text: q }], structuredContent: { n: q.length } };
});
server.tool('content', {}, () => ({ content: [{ type: 'text', text: '1' }] }));
server.tool('annotated', { output }, (): CallToolResult => ({ content: [], structuredContent: { n: 1 } }));
server.tool('forwarded', { output }, async () => forwarded);
server.tool('maybe-failed', { output }, () => ({ content: [{ type: 'text', text: '1' }], isError: json['a'] === 1 }));
server.tool('failing', { output }, () => {
  throw new UserError('not yet');
});
server.tool('any', { output }, () => JSON.parse('{"n":1}'));
server.tool('own-content', { output: z.object({ content: z.array(z.string()) }) }, () => ({ content: ['x'] }));
server.tool('either', { input: output, output }, async ({ n }, ctx) => {
  await ctx.progress(n);
  return n > 1 ? { n } : { content: [{ type: 'text', text: '1' }], structuredContent: { n } };
});

// Values, which are sent as text or JSON.
server.tool('blocks', {}, async () => [{ type: 'text', text: 'A logo:' }, await image(png, 'image/png')]);
server.tool('interfaces', {}, async () => animals);
server.tool('objects', {}, () => [json, { a: [1, null] }, new Date()]);
server.tool('nothing', {}, async () => {});
server.tool('schema', { input: json }, (args) => JSON.stringify(args));
server.tool('unknown-as-text', {}, () => JSON.stringify(parsed));

// @ts-expect-error content without structured content
server.tool('only-content', { output }, () => ({ content: [{ type: 'text', text: '1' }] }));
// @ts-expect-error the same of a tool with arguments
server.tool('only-content-of', { input: output, output }, async ({ n }) => ({
  content: [{ type: 'text', text: String(n) }],
}));
// @ts-expect-error the same in one of two results
server.tool('content-or-value', { input: output, output }, async ({ n }) => {
  if (n > 1) return { n };
  return { content: [{ type: 'text', text: '1' }] };
});
// @ts-expect-error a value of which nothing is known: it could be any of the mistakes below
server.tool('unknown', {}, () => parsed);
// @ts-expect-error a misspelt type
server.tool('txt', {}, () => [{ type: 'txt', text: '1' }]);
// @ts-expect-error a misspelt type in a result
server.tool('txt-result', {}, () => ({ content: [{ type: 'txt', text: '1' }] }));
// @ts-expect-error bytes as data
server.tool('buffer-data', {}, () => ({ type: 'image', data: Buffer.from(png), mimeType: 'image/png' }));
// @ts-expect-error bytes as data, in an array
server.tool('buffers-data', {}, () => [{ type: 'image', data: png, mimeType: 'image/png' }]);
// @ts-expect-error bytes as the result
server.tool('bytes', {}, async () => png);
// @ts-expect-error without await
server.tool('promise', {}, () => [image(png, 'image/png')]);
// @ts-expect-error a shape as the input
server.tool('input-shape', { input: { a: z.string() } }, () => 'x');
// @ts-expect-error a shape as the output
server.tool('output-shape', { output: { a: z.string() } }, () => ({ a: 'x' }));
// @ts-expect-error a schema as an argument of a prompt
server.prompt('argument', { arguments: { a: z.string() } }, () => 'x');
// @ts-expect-error the official SDK's name of the input
server.tool('input-schema', { inputSchema: { a: z.string() } }, () => 'x');
// @ts-expect-error the official SDK's name of the output
server.tool('output-schema', { outputSchema: { a: z.string() } }, () => ({ a: 'x' }));
// @ts-expect-error the official SDK's name of the arguments
server.prompt('args-schema', { argsSchema: { a: z.string() } }, () => 'x');
// @ts-expect-error the official SDK's order
server.resource('all', 'x://all', () => 'x');
// A form of all kinds of values.
server.tool('form', {}, async (_, ctx) => {
  const schema = z.object({
    a: z.string().optional(),
    b: z.coerce.number().default(1),
    c: z.enum(['x', 'y']),
    d: z.array(z.enum(['x'])),
    e: z.boolean(),
  });
  const { content } = await ctx.elicit({ message: 'x', schema });
  return content?.c ?? (await ctx.elicit({ message: 'x', requestedSchema: schema })).action;
});
const nested = z.object({ a: output });
server.tool('nested', {}, async (_, ctx) => {
  // @ts-expect-error a form with an object in it
  const { action } = await ctx.elicit({ message: 'x', schema: nested });
  return action;
});
