import { execFile, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { transform } from '../../../packages/codemod/transform.mjs';
import { root } from '../../support/process.ts';
import { overStdio, tour } from './notes.ts';

const notes = readFileSync(`${root}examples/moving/notes/official-sdk-1.ts`, 'utf8');

/** A folder in this project, from which `everwire` and the SDK can be imported. */
function folder(): string {
  mkdirSync(`${root}.tmp`, { recursive: true });
  const made = mkdtempSync(`${root}.tmp/codemod-`);
  onTestFinished(() => rmSync(made, { recursive: true }));
  return made;
}

/** Replaces a statement that the codemod has left, with its comments, as a person would. */
function finish(code: string, start: RegExp, end: string, by: string): string {
  const from = code.search(start);
  if (from < 0) throw new Error(`nothing is left that begins with ${start}`);
  return code.slice(0, from) + by + code.slice(code.indexOf(end, from) + end.length);
}

describe('the codemod', () => {
  test('leaves of the notes server what needs a person, and says where the guide explains it', () => {
    const { code, changes, todos } = transform(notes);
    expect(changes).toBe(12);
    expect(todos.map(({ text }) => text)).toEqual([
      expect.stringContaining('#transports-and-sessions'),
      expect.stringContaining('content of ctx.sample may be a list'),
      expect.stringContaining('delete this handler: Everwire keeps subscriptions itself, and resourceUpdated'),
      expect.stringContaining('delete this handler: Everwire keeps subscriptions itself. '),
      expect.stringContaining('answer this method in server.use(…)'),
    ]);
    expect(code.split('\n').filter((line) => line.length > 120 && !line.includes('TODO'))).toEqual([]);
    const guide = readFileSync(`${root}docs/moving/official-sdk-1.md`, 'utf8');
    const headings = Array.from(guide.matchAll(/^## (.*)$/gm), ([, text]) =>
      text!
        .toLowerCase()
        .replaceAll(/[^\w -]/g, '')
        .replaceAll(' ', '-'),
    );
    const sources = ['handlers', 'registrations', 'server-uses', 'transform'].map((name) =>
      readFileSync(`${root}packages/codemod/${name}.mjs`, 'utf8'),
    );
    const refused = sources.flatMap((text) => text.match(/(?:refuse|mark)\([^;]*?\)(?=[;,\n])/g) ?? []);
    const sections = refused.flatMap((call) => /, '([a-z-]+)',?\s*\)$/.exec(call)?.[1] ?? []);
    expect(sections.length).toBeGreaterThan(20);
    expect(headings).toEqual(expect.arrayContaining(sections));
    for (const { text } of todos) expect(headings).toContain(text.split('#')[1]);
    expect(code.match(/TODO\(everwire\)/g)).toHaveLength(todos.length);
  });

  test('makes a server that compiles and does the same, when a person has finished it', async () => {
    let { code } = transform(notes);
    code = finish(
      code,
      /const text = content\.type/,
      ';',
      "const [part] = [content].flat();\n    const text = part?.type === 'text' ? part.text : '';",
    );
    code = finish(
      code,
      /const subscribed = /,
      '({ tags: store.tags() }));',
      `server.use((next) => async (exchange) =>
    exchange.method === 'notes/tags' ? { tags: store.tags() } : next(exchange),
  );`,
    );
    code = code.replace("if (subscribed.has('notes://all')) ", '');
    code = code.replace(/^import \{[^}]*SubscribeRequestSchema[^}]*\}/m, 'import { isInitializeRequest }');

    const here = folder();
    writeFileSync(`${here}/notes.ts`, code);
    copyFileSync(`${root}examples/moving/notes/store.ts`, `${here}/store.ts`);
    const compilerOptions = { outDir: 'out', rootDir: '.', incremental: false, declaration: false, sourceMap: false };
    writeFileSync(
      `${here}/tsconfig.json`,
      JSON.stringify({ extends: '../../tsconfig.json', compilerOptions, include: ['*.ts'], exclude: [] }),
    );
    const compiled = await promisify(execFile)(process.execPath, [
      `${root}node_modules/typescript/bin/tsc`,
      '-p',
      here,
    ]).catch(({ stdout }: { stdout: string }) => ({ stdout }));
    expect(compiled.stdout).toBe('');
    const then = await tour(overStdio('official-sdk-1'));
    expect(await tour(overStdio(`/${here.slice(1)}/out/notes.js`))).toEqual(then);
  });
});

const head = `import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { z } from 'zod';
const server = new McpServer({ name: 'a', version: '1' });
`;
const moved = head.replace("'@modelcontextprotocol/sdk/server/mcp.js'", "'everwire/server'");

describe('a server that is written in an odd way', () => {
  test.each([
    ['a config from elsewhere', "server.registerTool('t', config, () => f());", 'tools'],
    ['a spread config', "server.registerTool('t', { ...config }, () => f());", 'tools'],
    ['spread arguments', 'server.registerTool(...tool);', 'replacements'],
    ['a computed URI', "server.registerResource('r', uri, {}, () => f());", 'resources'],
    [
      'an argument of a prompt from elsewhere',
      "server.registerPrompt('p', { argsSchema: { a } }, ({ a }) => f(a));",
      'prompts-and-completion',
    ],
    ['a comment between arguments', "server.tool('t', /* why */ 'text', () => f());", 'replacements'],
    ['the low level', 'server.server.setRequestHandler(S, () => f());', 'the-low-level'],
    ['a question outside of a call', 'await server.server.elicitInput(form);', 'elicitation'],
    ['a computed method', "server['registerTool']('t', {}, () => f());", 'the-server'],
  ])('keeps %s, with a comment', (_, statement, section) => {
    const { code, todos } = transform(`${head}${statement}\n`);
    expect(todos).toHaveLength(1);
    expect(todos[0]!.text).toMatch(new RegExp(`official-sdk-1.md#${section}$`));
    expect(code).toBe(`${moved}// TODO(everwire): ${todos[0]!.text}\n${statement}\n`);
  });

  test.each([
    [
      'a shape from elsewhere',
      "server.registerTool('t', { inputSchema: shape }, ({ a }) => f(a));",
      "server.tool('t', { input: shape }, ({ a }) => f(a));",
      'what-stays',
    ],
    [
      'a handler from elsewhere',
      "server.registerTool('t', {}, handler);",
      "server.tool('t', {}, handler);",
      'replacements',
    ],
    [
      'extra that is passed on',
      "server.registerTool('t', {}, (extra) => f(extra));",
      "server.tool('t', {}, (_, extra) => f(extra));",
      'replacements',
    ],
    [
      'an error with a code',
      "server.registerTool('t', {}, () => { throw new McpError(1, 'x'); });",
      "server.tool('t', {}, () => { throw new McpError(1, 'x'); });",
      'errors',
    ],
    [
      'an error that is thrown again',
      "server.registerTool('t', {}, () => { try { f(); } catch (e) { throw e; } });",
      "server.tool('t', {}, () => { try { f(); } catch (e) { throw e; } });",
      'errors',
    ],
    [
      'a URL that is passed on',
      "server.registerResource('r', 'a://b', {}, (uri) => f(uri));",
      "server.resource('a://b', { name: 'r' }, (uri) => f(uri));",
      'resources',
    ],
    [
      'an argument with a rule',
      "server.registerPrompt('p', { argsSchema: { a: z.enum(['x', 'y']).describe('An a').optional() } }, ({ a }) => f(a));",
      "server.prompt('p', { arguments: { a: { description: 'An a' } } }, ({ a }) => f(a));",
      'prompts-and-completion',
    ],
    [
      'roots that are passed on',
      "server.registerTool('t', {}, async () => f(await server.server.listRoots()));",
      "server.tool('t', {}, async (_, ctx) => f(await server.server.listRoots()));",
      'sampling-and-roots',
    ],
    [
      'a question to a model with a time limit',
      "server.registerTool('t', {}, () => server.server.createMessage(p, { timeout: 1 }));",
      "server.tool('t', {}, (_, ctx) => server.server.createMessage(p, { timeout: 1 }));",
      'sampling-and-roots',
    ],
    [
      'the token',
      "server.registerTool('t', {}, ({ authInfo }) => f(authInfo.token));",
      "server.tool('t', {}, (_, ctx) => f(ctx.authInfo.token));",
      'replacements',
    ],
    [
      'another notification',
      "server.registerTool('t', {}, ({ sendNotification }) => sendNotification({ method: 'a/b' }));",
      "server.tool('t', {}, (_, ctx) => ctx.sendNotification({ method: 'a/b' }));",
      'progress-logs-and-cancellation',
    ],
  ])('marks %s, and rewrites the rest', (_, before, after, section) => {
    const { code, todos } = transform(`${head}${before}\n`);
    expect(todos).toHaveLength(1);
    expect(todos[0]!.text).toMatch(new RegExp(`official-sdk-1.md#${section}$`));
    expect(code).toBe(`${moved}// TODO(everwire): ${todos[0]!.text}\n${after}\n`);
  });

  test('gets a comment at the line that is left, with the advice for its kind', () => {
    const source = `${head}server.registerResource(
  'r',
  new ResourceTemplate('a://{id}', { list: undefined }),
  {},
  async (uri: URL, { id }) => {
    if (id === '') throw new McpError(ErrorCode.InvalidParams, 'There is none');
    return { contents: [{ uri: uri.href, text: uri.host }] };
  },
);
server.registerPrompt('p', {}, () => {
  throw new McpError(ErrorCode.InvalidParams, 'no');
});
`.replace('{ McpServer }', '{ McpServer, ResourceTemplate }');
    const { code } = transform(source);
    expect(code).toBe(`${moved}server.resourceTemplate(
  'a://{id}', { name: 'r' },
  async ({ id }, _ctx, uri) => {
    // TODO(everwire): throws McpError: return undefined if the resource does not exist, or throw an RpcError. See docs/moving/official-sdk-1.md#errors
    if (id === '') throw new McpError(ErrorCode.InvalidParams, 'There is none');
    return { contents: [{ uri, text: new URL(uri).host }] };
  },
);
server.prompt('p', {}, () => {
  // TODO(everwire): throws McpError: write UserError for a wrong argument, or RpcError for another code. See docs/moving/official-sdk-1.md#errors
  throw new McpError(ErrorCode.InvalidParams, 'no');
});
`);
  });

  const errors = head.replace(/\n/, `\nimport { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';\n`);

  test('gets our errors for those of the SDK: of a tool for the model, else with the same code', () => {
    const { code, todos } = transform(`${errors}server.registerTool('t', {}, () => {
  throw new McpError(ErrorCode.InvalidParams, 'no ' + x);
});
server.registerPrompt('p', {}, () => {
  throw new McpError(ErrorCode.InvalidParams, 'no', { x: 1 });
});
server.registerResource('r', 'a://b', {}, (uri) => {
  throw new McpError(ErrorCode.InternalError, uri.href);
});
`);
    expect(todos).toEqual([]);
    expect(code).toBe(`import { ErrorCode, McpServer, RpcError, UserError } from 'everwire/server';
import { z } from 'zod';
const server = new McpServer({ name: 'a', version: '1' });
server.tool('t', {}, () => {
  throw new UserError('no ' + x);
});
server.prompt('p', {}, () => {
  throw new RpcError(ErrorCode.InvalidParams, 'no', { data: { x: 1 } });
});
server.resource('a://b', { name: 'r' }, (uri) => {
  throw new RpcError(ErrorCode.InternalError, uri);
});
`);
  });

  test.each([
    ['a code of its own', "server.registerTool('t', {}, () => { throw new McpError(1, 'x'); });"],
    ['data', "server.registerTool('t', {}, () => { throw new McpError(ErrorCode.InvalidParams, 'x', { a }); });"],
    [
      'the code of a URL',
      "server.registerTool('t', {}, () => { throw new McpError(ErrorCode.UrlElicitationRequired, 'x'); });",
    ],
    [
      'a code that we lack',
      "server.registerPrompt('p', {}, () => { throw new McpError(ErrorCode.RequestTimeout, 'x'); });",
    ],
    ['spread arguments', "server.registerTool('t', {}, () => { throw new McpError(ErrorCode.InvalidParams, ...x); });"],
  ])('keeps an McpError with %s, with a comment', (_, statement) => {
    const { code, todos } = transform(`${errors}${statement}\n`);
    expect(todos.map(({ text }) => text)).toEqual([expect.stringMatching(/^throws McpError: .*#errors$/)]);
    expect(code).toContain(/throw .*;/.exec(statement)![0]);
    expect(code).toContain("import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';");
  });

  test('keeps the codes of the SDK that other code needs', () => {
    const { code } = transform(
      `${errors}server.registerTool('t', {}, () => { throw new McpError(ErrorCode.InvalidParams, 'x'); });\nf(ErrorCode.RequestTimeout);\n`,
    );
    expect(code).toContain("import { ErrorCode } from '@modelcontextprotocol/sdk/types.js';");
    expect(code).toContain("throw new UserError('x')");
  });

  test.each([
    [
      'of the second parameter',
      `async ({ n }, extra: RequestHandlerExtra<A, B>) => {
  const progressToken = extra._meta?.progressToken;
  if (progressToken !== undefined) {
    await extra.sendNotification({
      method: 'notifications/progress',
      params: { progressToken, progress: 1, total: n },
    });
  }
  await extra.sendNotification({ method: 'notifications/message', params: { level: 'info', data: extra._meta } });`,
      'extra',
    ],
    [
      'of names in the second parameter',
      `async ({ n }, { signal, sendNotification, _meta }) => {
  const progressToken = _meta?.progressToken;
  if (progressToken) await sendNotification({ method: 'notifications/progress', params: { progressToken, progress: 1, total: n } });
  await sendNotification({ method: 'notifications/message', params: { level: 'info', data: _meta } });`,
      'ctx',
    ],
  ])('may have progress and logs %s', (_, before, name) => {
    const start = `server.registerTool('t', { inputSchema: { n: z.number() } }, `;
    const { code, todos } = transform(
      `${head.replace(/\n/, "\nimport type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';\n")}${start}${before}\n});\n`,
    );
    expect(todos).toEqual([]);
    const body = code.slice(code.indexOf('server.tool')).replaceAll(/\s*\n\s*/g, '\n');
    expect(body).toBe(`server.tool('t', { input: z.object({ n: z.number() }) }, async ({ n }, ${name}) => {
await ${name}.progress(1, n);
await ${name}.log('info', ${name}.exchange.params['_meta']);
});
`);
    const imported = /import .*RequestHandlerExtra/.test(code);
    expect(imported).toBe(name === 'ctx');
  });

  test('keeps a progress token on which more depends', () => {
    const { code } = transform(`${head}server.registerTool('t', {}, async (extra) => {
  const progressToken = extra._meta?.progressToken;
  if (progressToken) {
    prepare();
    await extra.sendNotification({ method: 'notifications/progress', params: { progressToken, progress: 1 } });
  }
});
`);
    expect(code).toContain("const progressToken = extra.exchange.params['_meta']?.progressToken;");
    expect(code).toContain('if (progressToken) {');
    expect(code).toContain('await extra.progress(1);');
  });

  test.each([
    [
      'a namespace import',
      "import * as sdk from '@modelcontextprotocol/sdk/server/mcp.js';\nconst server = new sdk.McpServer(a);\n",
    ],
    ['a server in a property', `${head.replace('const server', 'class A { server')}}\n`],
    ['a server that a function returns', `${head.replace('const server =', 'const make = () =>')}make().tool(1);\n`],
    ['a property of its type', `${head}class A { server: McpServer = server; }\n`],
    ['a parameter that is a property', `${head}class A { constructor(private server: McpServer) {} }\n`],
    ['a class', `${head}class Mine extends McpServer {}\n`],
    [
      'a description from elsewhere',
      `${head.replace(/\{ name.*\}/, 'info')}server.registerTool('t', {}, () => f());\n`,
    ],
    [
      'unknown options',
      `${head.replace("'1' }", "'1' }, { maxToolInputElements: 3 }")}server.registerTool('t', {}, () => f());\n`,
    ],
    ['a name of another type', `${head}function other(server: Other) { server.tool(1); }\n`],
    ['a name with two meanings', `${head}function other() { const server = 1; return server; }\n`],
  ])('keeps the whole file for %s', (_, source) => {
    const { code, changes, todos } = transform(source);
    expect(changes).toBe(0);
    expect(todos.length).toBeGreaterThan(0);
    expect(code.replaceAll(/^ *\/\/ TODO\(everwire\).*\n/gm, '')).toBe(source);
  });

  test('may have other names and quotes, and keeps its layout', () => {
    const source = `import { McpServer as Server } from "@modelcontextprotocol/sdk/server/mcp.js";
import * as zod from "zod";

// My server.
const s = new Server({ name: "a",   version: "1" });
s.registerTool("t", {
    inputSchema: { a: zod.string() },   // the text
}, async ({ a }) => ({ content: [{ type: "text", text: a }] }));
s.registerTool("u", {}, extra => f(extra.signal));
`;
    const { code, todos } = transform(source);
    expect(todos).toEqual([]);
    expect(code).toBe(`import { McpServer as Server } from "everwire/server";
import * as zod from "zod";

// My server.
const s = new Server({ name: "a",   version: "1" });
s.tool("t", {
    input: zod.object({ a: zod.string() }),   // the text
}, async ({ a }) => ({ content: [{ type: "text", text: a }] }));
s.tool("u", {}, (_, extra) => f(extra.signal));
`);
  });

  test.each([
    [
      'a shape in a constant',
      "const shape = { a: z.string() };\nserver.registerTool('t', { inputSchema: shape }, ({ a }) => f(a));",
      "const shape = { a: z.string() };\nserver.tool('t', { input: z.object(shape) }, ({ a }) => f(a));",
    ],
    [
      'a schema in a constant',
      "export const input = z.object({ a: z.string() });\nserver.registerTool('t', { inputSchema: input }, ({ a }) => f(a));",
      "export const input = z.object({ a: z.string() });\nserver.tool('t', { input: input }, ({ a }) => f(a));",
    ],
    [
      'a shape in a constant, in a deprecated method',
      "const shape = { a: z.string() };\nserver.tool('t', shape, ({ a }) => f(a));",
      "const shape = { a: z.string() };\nserver.tool('t', { input: z.object(shape) }, ({ a }) => f(a));",
    ],
    [
      'what the server knows of the client',
      "server.registerTool('t', {}, () => f(server.server.getClientVersion()?.name, server.server.getClientCapabilities()));",
      "server.tool('t', {}, (_, ctx) => f(ctx.caller.clientInfo?.name, ctx.caller.capabilities));",
    ],
    [
      'a log message of a handler without a second parameter',
      "server.registerTool('t', { inputSchema: { a: z.string() } }, async a => { await server.server.sendLoggingMessage({ level: 'info', data: a }); });",
      "server.tool('t', { input: z.object({ a: z.string() }) }, async (a, ctx) => { await ctx.log('info', a); });",
    ],
    [
      'a session id that is only passed back',
      "server.registerTool('t', {}, async ({ signal, sessionId }) => { await server.sendLoggingMessage({ level: 'info', data: 1 }, sessionId); f(signal, { signal }); });",
      "server.tool('t', {}, async (_, ctx) => { await ctx.log('info', 1); f(ctx.signal, { signal: ctx.signal }); });",
    ],
    [
      'a header',
      "server.registerTool('t', {}, (extra) => f(extra.requestInfo?.headers['user-agent']));",
      "server.tool('t', {}, (_, extra) => f(extra.header('user-agent')));",
    ],
    [
      'a list of resources',
      "server.registerResource('r', new ResourceTemplate('a://{b}', { list: async () => ({ resources: await f() }) }), {}, () => g());",
      "server.resourceTemplate('a://{b}', { name: 'r', list: async () => await f() }, () => g());",
    ],
  ])('may have %s', (_, before, after) => {
    const both = head.replace('{ McpServer }', '{ McpServer, ResourceTemplate }');
    const { code, todos } = transform(`${before.includes('ResourceTemplate') ? both : head}${before}\n`);
    expect(todos).toEqual([]);
    expect(code).toBe(`${moved}${after}\n`);
  });

  test.each([
    ['in a parameter', "server.registerTool('t', {}, ({ sessionId }) => f(sessionId));", 'sessionId'],
    ['of the second parameter', "server.registerTool('t', {}, (extra) => f(extra.sessionId));", 'extra.sessionId'],
  ])('learns what becomes of a session id %s', (_, statement, name) => {
    const [todo] = transform(`${head}${statement}\n`).todos;
    expect(todo?.text).toMatch(
      new RegExp(`^${name}.* becomes ctx.caller.session\\?.id, which is not the id on the wire`),
    );
  });

  test('is told of a function that throws errors for the model', () => {
    const { todos } = transform(`${head}function find() {
  throw new Error('There is nothing.');
}
function unrelated() {
  throw new Error('Not for the model.');
}
server.registerTool('t', {}, () => find());
`);
    expect(todos).toEqual([
      { line: 5, text: expect.stringMatching(/^find throws an Error, whose message .*#errors$/) },
    ]);
  });

  test('gets the comment that the README shows', () => {
    const readme = readFileSync(`${root}packages/codemod/README.md`, 'utf8');
    const [, comment = ''] = /```ts\n(.*)\n```/.exec(readme) ?? [];
    expect(transform(`${head}server.server.setRequestHandler(S, f);\n`).code).toContain(`\n${comment}\n`);
  });

  test('may have lines of Windows', () => {
    const source = `${head}server.registerTool('t', {}, handler);\n`.replaceAll('\n', '\r\n');
    const { code } = transform(source);
    expect(code.replaceAll('\r\n', '')).not.toContain('\n');
    expect(code).toContain('// TODO(everwire)');
  });

  test('stays unchanged if it does not use the SDK', () => {
    const source = "import { McpServer } from './mine.js';\nnew McpServer(1).registerTool(2);\n";
    expect(transform(source)).toEqual({ code: source, changes: 0, todos: [] });
  });
});

const run = (...args: string[]) =>
  spawnSync(process.execPath, [`${root}packages/codemod/main.mjs`, ...args], { encoding: 'utf8' });

test('the command rewrites files in place, only shows it with --dry-run, and knows files that are already moved', () => {
  const here = folder();
  const file = `${here}/server.ts`;
  const source =
    `${head}server.registerTool('t', {}, handler);\nserver.sendToolListChanged();\nnew Other(S);\n`.replace(
      '\n',
      "\nimport { S } from '@modelcontextprotocol/sdk/types.js';\n",
    );
  writeFileSync(file, source);
  const dry = run('--dry-run', here).stdout;
  expect(dry).toContain(`${file}: 2 rewritten, 1 left\n  line 5: the handler is not written here`);
  expect(dry).toMatch(/\n1 TODO\(everwire\) left: search for them, then run npx tsc\n$/);
  expect(readFileSync(file, 'utf8')).toBe(source);
  run(here);
  const after = readFileSync(file, 'utf8');
  expect(after).toContain("server.listChanged('tools');");
  expect(run(here).stdout).toBe(
    `${file}: already moved, 1 TODO(everwire) left\n1 TODO(everwire) left: search for them, then run npx tsc\n`,
  );
  expect(readFileSync(file, 'utf8')).toBe(after);
  expect(run('--help').stdout).toContain('Usage: everwire-codemod');
});

test('names in sources, and of files, cannot end a comment or control the terminal', () => {
  const here = folder();
  const key = String.raw`a\u001b]0;b\u0007\u202e\nprocess.exit(7); //`;
  const source = `import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
const server = new McpServer({ name: 'a', version: '1' });
const tool = server.registerTool('b', {}, () => ({ content: [] }));
tool.update({ '${key}': 1 });
`;
  const shown = 'update of ' + key.replace(String.raw`\n`, String.raw`\u000a`) + ' has no direct replacement';
  expect(transform(source).code).toContain(`// TODO(everwire): ${shown}`);
  if (process.platform === 'win32') return;
  writeFileSync(`${here}/c\u001b[31m.ts`, source);
  const { stdout } = run(here);
  expect(stdout).toContain(String.raw`/c\u001b[31m.ts: `);
  expect(stdout).toContain(shown);
});

test('the command marks a file that it must leave only once', () => {
  const here = folder();
  const file = `${here}/server.ts`;
  writeFileSync(file, `${head}class Mine extends McpServer {}\n`);
  run(here);
  const marked = readFileSync(file, 'utf8');
  run(here);
  expect(marked).toContain('TODO(everwire)');
  expect(readFileSync(file, 'utf8')).toBe(marked);
});

test('the command says what is wrong with a missing path, CommonJS and an old Zod', () => {
  const here = folder();
  expect(run(`${here}/nowhere`)).toMatchObject({
    status: 2,
    stderr: `everwire-codemod: there is no file or folder ${here}/nowhere\n`,
  });
  const file = `${here}/server.cjs`;
  writeFileSync(file, "const { McpServer } = require('@modelcontextprotocol/sdk/server/mcp.js');\n");
  mkdirSync(`${here}/node_modules/zod`, { recursive: true });
  writeFileSync(`${here}/node_modules/zod/package.json`, JSON.stringify({ name: 'zod', version: '3.25.76' }));
  expect(run(here).stdout).toBe(
    `zod 3.25.76 is installed, but Everwire needs Zod 4.2 or newer: run npm install zod@4
${file}: is CommonJS, and only ES modules are rewritten; change require to import first
`,
  );
});

test.skipIf(process.platform === 'win32')('a file keeps its source if there is no space for the new one', () => {
  const here = folder();
  const file = `${here}/server.ts`;
  const source = `${head}server.registerTool('t', {}, () => f());\n// ${'x'.repeat(5000)}\n`;
  writeFileSync(file, source);
  // A file of this shell may have 1 KiB.
  const limited = ['-c', 'ulimit -f 1; exec "$@"', 'bash', process.execPath, `${root}packages/codemod/main.mjs`, file];
  const { status, stderr } = spawnSync('bash', limited, { encoding: 'utf8' });
  expect(stderr).toContain('file too large');
  expect(status).toBe(1);
  expect(readFileSync(file, 'utf8')).toBe(source);
  expect(readdirSync(here)).toEqual(['server.ts']);
});
