import { printableLine } from '../base/printable.ts';
import { isSecretName } from '../inspect/secrets.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { without } from '../jsonrpc/shape.ts';
import type { RecordedCall } from '../mock/recorded-call.ts';
import { Method } from '../protocol/methods.ts';
import { stable } from '../replay/comparable.ts';
import { eventsOf, PAGED, titleOf, type SessionRequest } from '../replay/session-requests.ts';
import { MASK, type Masks } from './masks.ts';
import { originOf, type RecordedWire } from './recorded-wire.ts';
import { variableOf } from './variables.ts';

/** The requests that become tests. Others belong to the client or to one session. */
const TESTED: ReadonlySet<string> = new Set([
  ...Object.keys(PAGED),
  ...[Method.CallTool, Method.ReadResource, Method.GetPrompt, Method.Complete],
]);
/** The methods of the client that read whole lists. */
const LISTS: Readonly<Record<string, string>> = {
  [Method.ListTools]: 'listTools',
  [Method.ListPrompts]: 'listPrompts',
  [Method.ListResources]: 'listResources',
  [Method.ListResourceTemplates]: 'listResourceTemplates',
};
/** What the revisions say about a result, and not the server. */
const OF_THE_REVISION = ['resultType', 'ttlMs', 'cacheScope'];
/** What stands for a secret that was found in a text. */
const REDACTED = '[redacted]';
/** The handlers that answer questions. */
const HANDLERS: Readonly<Record<string, string>> = {
  [Method.Elicit]: `onelicit: () => answer('elicitation/create'),`,
  [Method.CreateMessage]: `onsample: () => answer('sampling/createMessage'),`,
  [Method.ListRoots]: `onroots: () => answer('roots/list').roots,`,
};

/**
 * A Vitest file that sends the requests of a recording to the same server, and expects the same results.
 *
 * @param name of the recording, to show to users.
 */
export function vitestFile(
  calls: readonly RecordedCall[],
  { exchanges }: RecordedWire,
  name: string,
  masks: Masks,
): string {
  const { requests, questions } = eventsOf(calls);
  const answers: Record<string, unknown[]> = {};
  for (const { method, answer } of [...requests.flatMap((request) => request.questions), ...questions])
    if (answer && 'result' in answer && Object.hasOwn(HANDLERS, method)) (answers[method] ??= []).push(answer.result);
  const first = exchanges[0]?.request;
  const target = first && masks.target(originOf(first) + first.first[1]);
  const url = target?.includes(MASK) ? undefined : target;
  const headers = (first?.headers ?? []).filter(([each]) => isSecretName(each)).map(([each]) => each);
  const handlers = Object.entries(HANDLERS).filter(([method]) => answers[method]);
  const revision = requests.at(-1)?.revision ?? '';
  const lines = [
    `// Written by everwire export from ${printableLine(masks.text(name))}.`,
    `import { connect } from 'everwire/client';`,
    `import { afterAll, beforeAll, expect, test } from 'vitest';`,
    '',
    `// The server: a URL, or a command such as { command: 'node', args: ['server.js'] }.`,
    `const server = process.env['MCP_SERVER']${url === undefined ? '' : ` ?? ${JSON.stringify(url)}`};`,
    '',
    ...(handlers.length > 0
      ? [
          `// The recorded answers to the questions of the server, in their order.`,
          `const answers = ${code(answers, masks)};`,
          `const answer = (method) => answers[method].shift();`,
          '',
        ]
      : []),
    'let client;',
    'beforeAll(async () => {',
    `  if (server === undefined) throw new Error('Set MCP_SERVER to the URL of the server, or write a command above.');`,
    `  client = await connect(server, {`,
    `    revision: ${JSON.stringify(revision)},`,
    ...(headers.length > 0
      ? [`    headers: { ${headers.map((each) => `${JSON.stringify(each)}: ${variable(each)}`).join(', ')} },`]
      : []),
    ...handlers.map(([, line]) => `    ${line}`),
    `  });`,
    '});',
    'afterAll(() => client?.close());',
    ...requests.flatMap((request) => testOf(request, masks)),
  ];
  return `${lines.join('\n')}\n`;
}

function testOf(request: SessionRequest, masks: Masks): string[] {
  const { n, method, params, answer, cancelled } = request;
  const isTask = answer && 'result' in answer && (answer.result['task'] ?? answer.result['taskId']) !== undefined;
  if (!TESTED.has(method) || !answer || cancelled !== undefined || isTask || params['cursor'] !== undefined) return [];
  const open = ['', `test(${JSON.stringify(masks.text(`${titleOf(request)} (record ${n})`))}, async () => {`];
  const list = LISTS[method];
  const call =
    list === undefined
      ? `client.request(${JSON.stringify(method)}, ${code(without(params, ['_meta']), masks, true)})`
      : `client.${list}({ fresh: true })`;
  if ('error' in answer) {
    const { code: number, message } = answer.error;
    const expected = code({ code: number, message }, masks);
    return [...open, `  await expect(${call}).rejects.toMatchObject(${expected});`, '});'];
  }
  const result = without(stable(answer.result, undefined) as JsonObject, OF_THE_REVISION);
  const entries: unknown = result[PAGED[method] ?? ''];
  if (list !== undefined && Array.isArray(entries)) {
    const each = entries.map((entry) => `    expect.objectContaining(${code(entry, masks)}),`);
    return [...open, `  expect(await ${call}).toEqual(expect.arrayContaining([`, ...each, '  ]));', '});'];
  }
  return [...open, `  expect(await ${call}).toMatchObject(${code(result, masks)});`, '});'];
}

/** A variable of the environment that has a secret. */
function variable(name: string): string {
  return `process.env[${JSON.stringify(variableOf(name))}] ?? ''`;
}

/**
 * A value as JavaScript.
 *
 * @param isSent whether secrets are variables of the environment. Otherwise, any text may stand for a secret.
 */
function code(value: unknown, masks: Masks, isSent = false): string {
  // Nobody else can write it into a message.
  const mark = isSent ? crypto.randomUUID() : undefined;
  return literal(
    masks.value(value, (name) => (mark === undefined ? MASK : mark + name)),
    mark,
  );
}

/** @param mark is before the name of a variable. Undefined if there are none. */
function literal(value: unknown, mark: string | undefined): string {
  if (typeof value === 'string') {
    if (mark !== undefined && value.startsWith(mark)) return variable(value.slice(mark.length));
    return mark === undefined && (value.includes(MASK) || value.includes(REDACTED))
      ? 'expect.any(String)'
      : JSON.stringify(value);
  }
  if (Array.isArray(value)) return `[${value.map((each) => literal(each, mark)).join(', ')}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? 'undefined';
  const members = Object.entries<unknown>(value).filter(([, member]) => member !== undefined);
  // As a plain key it would set the prototype.
  const key = (name: string): string => (name === '__proto__' ? '["__proto__"]' : JSON.stringify(name));
  return `{ ${members.map(([name, member]) => `${key(name)}: ${literal(member, mark)}`).join(', ')} }`;
}
