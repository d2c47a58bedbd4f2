import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { Method } from '../../protocol/methods.ts';
import { JsonSchema } from '../../schema/json-schema.ts';
import { clauses, everywhere, onPage } from '../clauses.ts';
import type { MessageEvent } from '../model/events.ts';
import { toolOrderOf } from '../model/messages.ts';
import { onEvent, type Outcome, type WireRule } from '../rule.ts';
import { objectsIn, resultOf } from './content.ts';
import { countMarks, markedArguments, type MarkedArgument } from './header-arguments.ts';
import { duplicate } from './duplicate.ts';
import { mismatch } from './mismatch.ts';
import { shown } from './shown.ts';

const DIALECTS = 'unsupported dialect';
const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;
const ONE_OF_PRIMITIVES: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean']);

/** Lists of tools, and what tools return. */
export const TOOL_RULES: readonly WireRule[] = [
  onEvent('message', {
    id: 'tool-name-length',
    area: 'tools',
    severity: 'warning',
    clauses: clauses(undefined, undefined, undefined, 'server/tools 9', 'server/tools 14'),
    right: 'The name of a tool has 1 to 128 characters.',
    check: (event) =>
      eachTool(event, ({ name }) =>
        typeof name === 'string'
          ? (name.length >= 1 && name.length <= 128) || `a name of ${name.length} characters`
          : undefined,
      ),
  }),
  onEvent('message', {
    id: 'tool-name-characters',
    area: 'tools',
    severity: 'warning',
    clauses: clauses(
      undefined,
      undefined,
      undefined,
      'server/tools 11,12',
      'server/tools 16,17; basic/transports/streamable-http 46',
    ),
    right: 'The name of a tool has only ASCII letters, digits, `_`, `-` and `.`.',
    check: (event) =>
      eachTool(event, ({ name }) =>
        typeof name === 'string' && name !== '' ? /^[\w.-]+$/.test(name) || `the tool ${shown(name)}` : undefined,
      ),
  }),
  onEvent('message', {
    id: 'tool-name-portable',
    area: 'tools',
    severity: 'advice',
    clauses: everywhere('server/tools'),
    right: 'The name of a tool has at most 64 letters, digits, `_` and `-`: the APIs of models accept no others.',
    check: (event) =>
      eachTool(event, ({ name }) => {
        if (typeof name !== 'string' || name === '') return undefined;
        // Newer revisions say this themselves.
        const isOld = event.revisions.every((each) => each < '2025-11-25');
        if (!isOld && !/^[\w.-]{1,128}$/.test(name)) return undefined;
        return /^[\w-]{1,64}$/.test(name) || `the tool ${shown(name)}`;
      }),
  }),
  onEvent('message', {
    id: 'tool-name-duplicate',
    area: 'tools',
    severity: 'warning',
    clauses: onPage('server/tools', ['', '', '', '13', '18']),
    right: 'The name of a tool is unique in its server.',
    check: (event) => duplicate(toolsOf(event), 'name'),
  }),
  onEvent('message', {
    id: 'tool-order-changes',
    area: 'tools',
    severity: 'warning',
    clauses: { '2026-07-28': 'server/tools 9' },
    right: 'If the tools stay the same, their order does not change.',
    check: ({ kind, from, about, result, conversation, toolOrderBefore: before }) => {
      if (kind !== 'result' || from !== 'server' || about?.method !== Method.ListTools || !before) return undefined;
      const now = conversation.isShared ? undefined : toolOrderOf(about, result);
      if (!now || now.toSorted().join('\n') !== before.toSorted().join('\n')) return undefined;
      const moved = now.findIndex((name, at) => name !== before[at]);
      return moved === -1 || `${shown(now[moved])} in the place of ${shown(before[moved])}`;
    },
  }),
  onEvent('message', {
    id: 'tool-description-missing',
    area: 'tools',
    severity: 'advice',
    clauses: everywhere('server/tools'),
    right: 'A tool has a description, from which models learn when to use it.',
    check: (event) =>
      eachTool(
        event,
        ({ name, description }) =>
          (typeof description === 'string' && description.trim() !== '') || `the tool ${shown(name)}`,
      ),
  }),
  onEvent('message', {
    id: 'tool-input-schema',
    area: 'tools',
    severity: 'error',
    clauses: clauses(
      'server/tools',
      'server/tools',
      'server/tools',
      'server/tools 7; basic/index 18,22',
      'server/tools 12; basic/index 35,39',
    ),
    right: 'An input schema is a valid JSON Schema.',
    check: (event) =>
      eachSchema(event, 'inputSchema', (problem) => !isReference(problem) && !problem.includes(DIALECTS)),
  }),
  onEvent('message', {
    id: 'tool-output-schema',
    area: 'tools',
    severity: 'error',
    clauses: clauses(
      undefined,
      undefined,
      'server/tools',
      'server/tools; basic/index 22',
      'server/tools; basic/index 39',
    ),
    right: 'An output schema is a valid JSON Schema.',
    check: (event) =>
      eachSchema(event, 'outputSchema', (problem) => !isReference(problem) && !problem.includes(DIALECTS)),
  }),
  onEvent('message', {
    id: 'tool-schema-reference',
    area: 'tools',
    severity: 'advice',
    clauses: everywhere('server/tools'),
    right: 'Every `$ref` of a schema leads to a place in the same schema: clients refuse others.',
    check: (event) => eachSchema(event, 'inputSchema', isReference) ?? eachSchema(event, 'outputSchema', isReference),
  }),
  onEvent('message', {
    id: 'tool-schema-dialect',
    area: 'tools',
    severity: 'advice',
    clauses: everywhere('server/tools'),
    right: 'A schema has the dialect 2020-12, which every client supports.',
    check: (event) =>
      eachTool(event, ({ name, inputSchema, outputSchema }) => {
        const other = [inputSchema, outputSchema].find((schema) => {
          const dialect: unknown = isObject(schema) ? schema['$schema'] : undefined;
          return dialect !== undefined && !(typeof dialect === 'string' && dialect.includes('2020-12'));
        });
        return other === undefined || `the tool ${shown(name)}: ${shown(other['$schema'])}`;
      }),
  }),
  onEvent('message', {
    id: 'tool-arguments',
    area: 'tools',
    severity: 'advice',
    clauses: everywhere('server/tools'),
    right: "The arguments of a call match the tool's input schema.",
    check: (event) => {
      const { params } = event;
      const tool = calledTool(event);
      if (!tool || !isObject(tool['inputSchema'])) return undefined;
      const problem = mismatch(tool['inputSchema'], params['arguments'] ?? {});
      return problem === undefined ? true : problem && `${shown(params['name'])}: ${problem}`;
    },
  }),
  onEvent('message', {
    id: 'structured-content-schema',
    area: 'tools',
    severity: 'error',
    clauses: onPage('server/tools', [undefined, undefined, '10', '16', '34']),
    right: 'A tool with an output schema returns structured content that matches it.',
    check: (event) => {
      const { about, result } = event;
      if (!resultOf(event, Method.CallTool) || result['isError'] === true || !isObject(about?.tool?.['outputSchema']))
        return undefined;
      if (result['structuredContent'] === undefined) return `no structuredContent from ${shown(about.tool['name'])}`;
      const problem = mismatch(about.tool['outputSchema'], result['structuredContent']);
      return problem === undefined ? true : problem && `${shown(about.tool['name'])}: ${problem}`;
    },
  }),
  onEvent('message', {
    id: 'structured-content-text',
    area: 'tools',
    severity: 'warning',
    clauses: onPage('server/tools', [undefined, undefined, '9', '15', '33']),
    right: 'Structured content is also sent as JSON in a text block.',
    check: (event) => {
      const { structuredContent, content } = event.result;
      if (!resultOf(event, Method.CallTool) || structuredContent === undefined || !Array.isArray(content))
        return undefined;
      const isThere = content.some(
        (each: unknown) => isObject(each) && each['type'] === 'text' && says(each['text'], structuredContent),
      );
      return isThere || 'no text block with the same JSON';
    },
  }),
  onEvent('message', {
    id: 'tool-result-resources-undeclared',
    area: 'tools',
    severity: 'warning',
    clauses: onPage('server/tools', [undefined, undefined, '8', '14', '32']),
    right: 'A server whose tools embed resources declares `resources`.',
    check: (event) => {
      const { content } = event.result;
      const { serverCapabilities } = event.conversation;
      if (!resultOf(event, Method.CallTool) || !Array.isArray(content) || serverCapabilities === undefined)
        return undefined;
      if (!content.some((each: unknown) => isObject(each) && each['type'] === 'resource')) return undefined;
      return serverCapabilities['resources'] !== undefined || 'an embedded resource';
    },
  }),
  onEvent('message', {
    id: 'tool-result-task',
    area: 'tools',
    severity: 'error',
    clauses: { '2026-07-28': 'extensions/tasks 1' },
    right: 'A server answers with a task only if the request declared the extension for tasks.',
    check: ({ kind, from, result, clientCapabilities }) => {
      if (kind !== 'result' || from !== 'server' || result['resultType'] !== 'task' || !clientCapabilities)
        return undefined;
      const extensions: unknown = clientCapabilities['extensions'];
      return (isObject(extensions) && Object.hasOwn(extensions, 'io.modelcontextprotocol/tasks')) || 'a task';
    },
  }),
  onEvent('message', {
    id: 'x-mcp-header-token',
    area: 'tools',
    severity: 'error',
    clauses: { '2026-07-28': 'server/tools 21,22,23; basic/transports/streamable-http 33,34,35' },
    right: 'The value of `x-mcp-header` is a token of RFC 9110.',
    check: (event) => eachMark(event, ({ header }) => TOKEN.test(header) || `"x-mcp-header": ${shown(header)}`),
  }),
  onEvent('message', {
    id: 'x-mcp-header-unique',
    area: 'tools',
    severity: 'error',
    clauses: { '2026-07-28': 'server/tools 24; basic/transports/streamable-http 36' },
    right: 'The values of `x-mcp-header` in a schema differ, ignoring case.',
    check: (event) =>
      eachTool(event, ({ name, inputSchema }) => {
        const names = [...markedArguments(inputSchema)].map(({ header }) => header.toLowerCase());
        if (names.length === 0) return undefined;
        const twice = names.find((each, at) => names.indexOf(each) !== at);
        return twice === undefined || `the tool ${shown(name)} has ${shown(twice)} twice`;
      }),
  }),
  onEvent('message', {
    id: 'x-mcp-header-type',
    area: 'tools',
    severity: 'error',
    clauses: { '2026-07-28': 'server/tools 25; basic/transports/streamable-http 37' },
    right: '`x-mcp-header` is only on integers, strings and booleans.',
    check: (event) =>
      eachMark(
        event,
        ({ header, schema }) => ONE_OF_PRIMITIVES.has(schema['type']) || `${shown(header)} on ${shown(schema['type'])}`,
      ),
  }),
  onEvent('message', {
    id: 'x-mcp-header-place',
    area: 'tools',
    severity: 'error',
    clauses: { '2026-07-28': 'server/tools 27; basic/transports/streamable-http 39,40' },
    right:
      '`x-mcp-header` is only on arguments that are reached through `properties` alone, not through lists or choices.',
    check: (event) =>
      eachTool(event, ({ name, inputSchema }) => {
        const count = countMarks(inputSchema);
        if (count === 0) return undefined;
        return count === [...markedArguments(inputSchema)].length || `the tool ${shown(name)}`;
      }),
  }),
  onEvent('message', {
    id: 'x-mcp-header-integer',
    area: 'tools',
    severity: 'error',
    clauses: { '2026-07-28': 'server/tools 26; basic/transports/streamable-http 38' },
    right: 'Integers in headers are below 2^53.',
    check: (event) => {
      const tool = calledTool(event);
      const args: unknown = event.params['arguments'];
      if (!tool || !event.exchange || !isObject(args)) return undefined;
      const numbers = [...markedArguments(tool['inputSchema'])]
        .map(({ path }) => args[path[0]!] as unknown)
        .filter((each) => typeof each === 'number');
      if (numbers.length === 0) return undefined;
      const unsafe = numbers.find((each) => !Number.isSafeInteger(each));
      return unsafe === undefined || `the argument ${shown(unsafe)}`;
    },
  }),
];

function toolsOf(event: MessageEvent): readonly JsonObject[] {
  return resultOf(event, Method.ListTools) ? objectsIn(event.result['tools']) : [];
}

/** The tool that a client calls, if its list is known. */
function calledTool({ kind, from, method, params, conversation }: MessageEvent): JsonObject | undefined {
  const isCall = kind === 'request' && from === 'client' && method === Method.CallTool;
  return isCall ? conversation.tool(params['name']) : undefined;
}

/** The outcome of the first tool with a breach, and of how many others. */
function eachTool(event: MessageEvent, check: (tool: JsonObject) => Outcome): Outcome {
  const outcomes = toolsOf(event).map(check);
  const wrong = outcomes.filter((each) => typeof each === 'string');
  if (wrong.length === 0) return outcomes.find((each) => each !== undefined);
  return wrong.length === 1 ? wrong[0] : `${wrong[0]}, and ${wrong.length - 1} more`;
}

function eachMark(event: MessageEvent, check: (mark: MarkedArgument) => Outcome): Outcome {
  return eachTool(event, ({ name, inputSchema }) => {
    let outcome: Outcome;
    for (const mark of markedArguments(inputSchema)) {
      const next = check(mark);
      if (typeof next === 'string') return `the tool ${shown(name)}: ${next}`;
      outcome ??= next;
    }
    return outcome;
  });
}

function eachSchema(event: MessageEvent, member: string, isJudged: (problem: string) => boolean): Outcome {
  return eachTool(event, (tool) => {
    const schema: unknown = tool[member];
    if (!isObject(schema)) return undefined;
    const problem = schemaProblem(schema);
    return problem === undefined || !isJudged(problem) || `the tool ${shown(tool['name'])}: ${problem}`;
  });
}

/** Why a schema is invalid, by the schema. Several rules ask. */
const problems = new WeakMap<JsonObject, string | null>();

function schemaProblem(schema: JsonObject): string | undefined {
  let problem = problems.get(schema);
  if (problem === undefined) {
    try {
      void new JsonSchema(schema, 'the schema');
      problem = null;
    } catch (error) {
      problem = (error as Error).message;
    }
    problems.set(schema, problem);
  }
  return problem ?? undefined;
}

function isReference(problem: string): boolean {
  return problem.includes(' refers to ');
}

/**
 * Whether a text says what the structured content says. Several frameworks wrap a value that is no object as
 * `{ result: value }`, and write the value alone as text.
 */
function says(text: unknown, structured: unknown): boolean {
  if (typeof text !== 'string') return false;
  if (sameJson(text, structured)) return true;
  if (!isObject(structured) || Object.keys(structured).join() !== 'result') return false;
  return text === structured['result'] || sameJson(text, structured['result']);
}

function sameJson(text: string, value: unknown): boolean {
  try {
    return JSON.stringify(sorted(JSON.parse(text))) === JSON.stringify(sorted(value));
  } catch {
    return false;
  }
}

/** A value whose members are in alphabetical order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .toSorted()
      .map((key) => [key, sorted(value[key])]),
  );
}
