import { inTurns } from '../../base/in-turns.ts';
import { shortJson } from '../../base/short-text.ts';
import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import type { ListKind } from './kinds.ts';
import { compilable } from './output-schema.ts';
import { malformedEntries } from './page.ts';
import { dictionary, listOf, Mistakes, oneOf, record, simple, type Shape } from './shapes.ts';

/*
 * Many clients refuse a whole list if one entry is malformed, and do not connect if one capability is. With several servers, this
 * would take the entries of all servers from them. So what is malformed is left out: an optional member, if possible, or else the
 * entry. Some servers write `null` for each member that they do not use. The shapes contain what the specification and the official
 * clients require in all revisions.
 */

const text = simple('a string', (value) => typeof value === 'string');
const flag = simple('true or false', (value) => typeof value === 'boolean');
/** JSON can write a number that is infinite when it is read, and `null` when it is written again. */
const number = simple('a number', Number.isFinite);
const object = simple('an object', isObject);
const schema = simple('a schema', (value) => isObject(value) || typeof value === 'boolean');
const time = simple('a time with a time zone', isTime);

const icon = record({ src: text, mimeType: text, sizes: listOf(text), theme: oneOf('light', 'dark') }, ['src']);
const shared = { name: text, title: text, description: text, icons: listOf(icon), _meta: object };
const annotations = record({
  audience: listOf(oneOf('user', 'assistant')),
  priority: simple('a number from 0 to 1', (value) => typeof value === 'number' && value >= 0 && value <= 1),
  lastModified: time,
});
const ofSchema = { properties: dictionary(schema), required: listOf(text) };

/** The shape of the tools on one page: the checks of their output schemas share a limit. */
function toolsOfPage(): Shape {
  return record(
    {
      ...shared,
      inputSchema: record({ ...ofSchema, type: oneOf('object') }, ['type']),
      outputSchema: compilable(record(ofSchema)),
      annotations: record({
        ...{ title: text, readOnlyHint: flag, destructiveHint: flag, idempotentHint: flag, openWorldHint: flag },
      }),
      execution: record({ taskSupport: oneOf('required', 'optional', 'forbidden') }),
    },
    ['name', 'inputSchema'],
  );
}

/** The shapes of entries, except tools. */
const ENTRIES: Readonly<Record<string, Shape>> = {
  prompts: record(
    { ...shared, arguments: listOf(record({ name: text, title: text, description: text, required: flag }, ['name'])) },
    ['name'],
  ),
  resources: record({ ...shared, uri: text, mimeType: text, size: number, annotations }, ['uri', 'name']),
  resourceTemplates: record({ ...shared, uriTemplate: text, mimeType: text, annotations }, ['uriTemplate', 'name']),
  tasks: record(
    {
      ...{ taskId: text, createdAt: text, lastUpdatedAt: text, statusMessage: text, pollInterval: number },
      status: oneOf('working', 'input_required', 'completed', 'failed', 'cancelled'),
      ttl: simple('a number or null', (value) => typeof value === 'number' || value === null),
    },
    ['taskId', 'status', 'ttl', 'createdAt', 'lastUpdatedAt'],
  ),
};

const CAPABILITIES = record({
  ...{ experimental: dictionary(object), extensions: dictionary(object), logging: object, completions: object },
  ...{ prompts: record({ listChanged: flag }), tools: record({ listChanged: flag }) },
  resources: record({ listChanged: flag, subscribe: flag }),
  tasks: record({ list: object, cancel: object, requests: record({ tools: record({ call: object }) }) }),
});

/** Whether a value is a time of ISO 8601 with a time zone (2025-11-25, schema: Annotations). */
function isTime(value: unknown): boolean {
  if (typeof value !== 'string') return false;
  const [, date, day] =
    /^([0-9]{4}-(?:0[1-9]|1[0-2])-([0-9]{2}))T(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]+)?)?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])$/.exec(
      value,
    ) ?? [];
  // After 28 February comes 1 March, also in `Date`.
  return date !== undefined && new Date(date).getUTCDate() === Number(day);
}

/**
 * The valid entries of a page, and the valid members of each.
 *
 * @param warn called with what is left out: at most once for entries, and once for members.
 */
export async function validEntries(
  kind: ListKind,
  entries: readonly JsonObject[],
  warn: (what: string, kind: string) => void,
): Promise<JsonObject[]> {
  const shape = ENTRIES[kind.key] ?? toolsOfPage();
  const valid: JsonObject[] = [];
  let [malformed, partly]: (string | undefined)[] = [];
  await inTurns(entries, (entry) => {
    const mistakes = new Mistakes();
    const rest = shape(entry, mistakes);
    if (rest !== undefined) valid.push(rest as JsonObject);
    if (mistakes.last === undefined) return;
    const example = shortJson(entry[kind.id]);
    if (rest === undefined) malformed ??= malformedEntries(kind, example, mistakes.last);
    else partly ??= malformedMembers(kind, example, mistakes.last);
  });
  if (malformed !== undefined) warn(malformed, `malformed ${kind.method}`);
  if (partly !== undefined) warn(partly, `members ${kind.method}`);
  return valid;
}

function malformedMembers({ method }: ListKind, example: string, problem: string): string {
  return `returned entries of ${method} with malformed members, which are left out, such as ${example}: ${problem}`;
}

/**
 * The valid capabilities of a server, and the valid members of each.
 *
 * @param warn called once, if anything is left out.
 */
export function validCapabilities(capabilities: JsonObject, warn: (what: string) => void): JsonObject {
  const mistakes = new Mistakes();
  const valid = CAPABILITIES(capabilities, mistakes) as JsonObject;
  if (mistakes.last !== undefined) warn(`declares malformed capabilities, which are left out: ${mistakes.last}`);
  return valid;
}
