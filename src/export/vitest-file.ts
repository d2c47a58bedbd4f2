import { printable, printableLine } from '../base/printable.ts';
import { isSecretName } from '../inspect/secrets.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { without } from '../jsonrpc/shape.ts';
import type { RecordedCall } from '../mock/recorded-call.ts';
import { Method } from '../protocol/methods.ts';
import { TASKS_EXTENSION } from '../protocol/tasks.ts';
import { stable } from '../replay/comparable.ts';
import {
  capabilitiesOf,
  eventsOf,
  PAGED,
  titleOf,
  type Question,
  type SessionRequest,
} from '../replay/session-requests.ts';
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
/** The questions that the client library has handlers for. */
const QUESTIONS: ReadonlySet<string> = new Set([Method.Elicit, Method.CreateMessage, Method.ListRoots]);
/** The capabilities that the client library declares for its handlers. */
const OF_HANDLERS = ['elicitation', 'sampling', 'roots', 'extensions'];

/**
 * A Vitest file that sends the requests of a recording to the same server, and expects the same results.
 *
 * @param calls all calls of the recording. The client in the file declares what the recorded one declared.
 * @param name of the recording, to show to users.
 * @param isSelected whether the request with this record becomes a test. Default: all.
 */
export function vitestFile(
  calls: readonly RecordedCall[],
  { exchanges }: RecordedWire,
  name: string,
  masks: Masks,
  isSelected: (n: number) => boolean = () => true,
): string {
  const { requests: all, questions } = eventsOf(calls);
  const requests = all.filter(({ n }) => isSelected(n));
  const answers = answersTo([...requests.flatMap((request) => request.questions), ...questions]);
  const first = exchanges[0]?.request;
  const target = first && masks.target(originOf(first) + first.first[1]);
  const url = target?.includes(MASK) ? undefined : target;
  const headers = (first?.headers ?? []).filter(([each]) => isSecretName(each)).map(([each]) => each);
  const { revision = '', session } = requests.at(-1) ?? {};
  const declared = capabilitiesOf(all.filter((request) => request.session === session));
  const handlers = handlersFor(declared, answers);
  const lines = [
    `// Written by everwire export from ${printableLine(masks.text(name))}.`,
    `// To run it: npm install --save-dev everwire vitest && npx vitest run`,
    `import { connect${handlers.length > 0 ? ', ErrorCode, RpcError' : ''} } from 'everwire/client';`,
    `import { afterAll, beforeAll, expect, test } from 'vitest';`,
    '',
    `// The server: a URL, or a command such as { command: 'node', args: ['server.js'] }.`,
    `const server = process.env['MCP_SERVER']${url === undefined ? '' : ` ?? ${JSON.stringify(url)}`};`,
    '',
    ...(handlers.length > 0
      ? [
          `// The recorded answers to the questions of the server, in their order.`,
          `const answers = ${code(answers, masks, true)};`,
          `function answer(method) {`,
          `  const { result, error } = answers[method]?.shift() ?? {};`,
          `  if (error) throw new RpcError(error.code, error.message);`,
          `  if (!result) throw new RpcError(ErrorCode.InternalError, 'The recording has no answer to ' + method);`,
          `  return result;`,
          `}`,
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
    ...capabilityLines(declared, masks).map((line) => `    ${line}`),
    ...handlers.map((line) => `    ${line}`),
    `  });`,
    '});',
    'afterAll(() => client?.close());',
    ...requests.flatMap((request) => testOf(request, masks)),
  ];
  // What comes from peers is in string literals, where the escapes mean the same.
  return printable(`${lines.join('\n')}\n`);
}

/** What the recorded client answered, by the method of the question. */
function answersTo(questions: readonly Question[]): Record<string, JsonObject[]> {
  const answers: Record<string, JsonObject[]> = {};
  for (const { method, answer } of questions) {
    if (!answer || !QUESTIONS.has(method)) continue;
    const recorded = 'result' in answer ? { result: answer.result } : { error: answer.error };
    (answers[method] ??= []).push(recorded);
  }
  return answers;
}

/** The handlers for the questions that the recorded client could be asked. */
function handlersFor(declared: JsonObject, answers: Readonly<Record<string, unknown>>): string[] {
  const { elicitation, sampling, roots } = declared;
  const lines: string[] = [];
  if (isObject(elicitation) || answers[Method.Elicit]) {
    const { url, form = url === undefined ? {} : undefined }: JsonObject = isObject(elicitation) ? elicitation : {};
    const modes = [...(form === undefined ? [] : ['form']), ...(url === undefined ? [] : ['url'])];
    lines.push(`onelicit: { ${modes.map((mode) => `${mode}: () => answer('elicitation/create')`).join(', ')} },`);
  }
  if (isObject(sampling) || answers[Method.CreateMessage]) {
    lines.push(`onsample: () => answer('sampling/createMessage'),`);
    const further = ['tools', 'context'].filter((each) => isObject(sampling) && isObject(sampling[each]));
    if (further.length > 0) lines.push(`sampling: { ${further.map((each) => `${each}: true`).join(', ')} },`);
  }
  if (isObject(roots) || answers[Method.ListRoots]) lines.push(`onroots: () => answer('roots/list').roots,`);
  return lines;
}

/** The options for what the recorded client declared without a handler. */
function capabilityLines(declared: JsonObject, masks: Masks): string[] {
  const { [TASKS_EXTENSION]: tasks, ...extensions }: JsonObject = isObject(declared['extensions'])
    ? declared['extensions']
    : {};
  const others = without(declared, OF_HANDLERS);
  const capabilities = { ...others, ...(Object.keys(extensions).length > 0 && { extensions }) };
  return [
    ...(Object.keys(capabilities).length > 0 ? [`capabilities: ${code(capabilities, masks, true)},`] : []),
    ...(tasks === undefined ? ['tasks: false,'] : []),
  ];
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
