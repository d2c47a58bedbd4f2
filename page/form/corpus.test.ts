import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { JsonObject } from '../../src/jsonrpc/message.ts';
import { enter } from './fixtures/person.ts';
import { sampleOf } from './fixtures/sample.ts';
import { FormModel } from './form-model.ts';

/**
 * The shapes of the input schemas of published servers. Names, values, descriptions and patterns were replaced, and
 * schemas that differ in nothing else are in it once.
 */
const schemas = readFileSync(new URL('fixtures/published-schemas.ndjson', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as JsonObject);

test('the corpus has at least 200 shapes, each once', () => {
  expect(schemas.length).toBeGreaterThanOrEqual(200);
  expect(new Set(schemas.map((schema) => JSON.stringify(schema))).size).toBe(schemas.length);
});

test.each([
  ['all properties', true],
  ['only the required properties', false],
])('every published schema sends exactly the JSON that was entered, with %s', (_, all) => {
  for (const [at, schema] of schemas.entries()) {
    const where = `line ${at + 1}`;
    const form = new FormModel(schema);
    expect(form.unchecked, where).toBeUndefined();
    const sample = sampleOf(schema, all);
    enter(form.root, sample);
    expect(form.json.value, where).toBe(JSON.stringify(sample));
    expect(form.problems.value, where).toEqual([]);
  }
});

test('every published schema shows the JSON of a value in its fields, and sends it again', () => {
  for (const [at, schema] of schemas.entries()) {
    const json = JSON.stringify(sampleOf(schema, true));
    const form = new FormModel(schema);
    form.load(json);
    expect(form.root.rawError.value, `line ${at + 1}`).toBeUndefined();
    expect(form.json.value, `line ${at + 1}`).toBe(json);
    form.root.showRaw();
    expect(form.json.value, `line ${at + 1}, as text`).toBe(json);
  }
});

/** What a form sends before anything is entered. Undefined if that is nothing. */
function untouched(root: JsonObject, given: JsonObject, required: boolean): unknown {
  const definition = (given['$ref'] as string | undefined)?.match(/^#\/\$defs\/(.*)$/)?.[1];
  const schema: JsonObject = definition === undefined ? given : { ...root['$defs'][definition], ...given };
  if (schema['default'] != null) return schema['default'];
  if (!required) return undefined;
  const branch: JsonObject | undefined = (schema['oneOf'] ?? schema['anyOf'])?.[0];
  if (branch && !schema['properties']) return untouched(root, branch, true);
  if (schema['type'] === 'array') return [];
  if (schema['type'] !== 'object') {
    return schema['const'] ?? (schema['enum']?.length === 1 ? schema['enum'][0] : undefined);
  }
  const members = Object.entries<JsonObject>(schema['properties'] ?? {})
    .map(([name, one]) => [name, untouched(root, one, schema['required']?.includes(name) === true)] as const)
    .filter(([, value]) => value !== undefined);
  return Object.fromEntries(members);
}

test('every published schema sends only defaults and what has one value, before anything is entered', () => {
  for (const [at, schema] of schemas.entries()) {
    expect(new FormModel(schema).json.value, `line ${at + 1}`).toBe(JSON.stringify(untouched(schema, schema, true)));
  }
});

test('at each keystroke the text is what was typed, and it is sent only if it is JSON', () => {
  for (const schema of schemas.filter((_, at) => at % 10 === 0)) {
    const form = new FormModel(schema);
    const text = JSON.stringify(sampleOf(schema, true), null, 2);
    form.root.showRaw();
    for (let length = 0; length <= text.length; length += 1) {
      const typed = text.slice(0, length);
      form.root.typeRaw(typed);
      expect(form.root.raw.value).toBe(typed);
      // A prefix of an object is never JSON.
      expect(form.json.value).toBe(length === text.length ? JSON.stringify(JSON.parse(text)) : undefined);
      expect(form.errors.value.length).toBe(length === text.length ? 0 : 1);
    }
  }
});

test('a change in the middle of the text changes nothing else', () => {
  const form = new FormModel(schemas[0]);
  const text = '{\n    "b" : 1.0,\n  "a":[ 12345678901234567890 ]}';
  for (let at = 0; at <= text.length; at += 1) {
    for (const changed of [text.slice(0, at) + text.slice(at + 1), `${text.slice(0, at)}"${text.slice(at)}`]) {
      form.root.typeRaw(changed);
      expect(form.root.raw.value).toBe(changed);
      let json: string | undefined;
      try {
        JSON.parse(changed);
        json = changed.replace(/\s+(?=(?:[^"]*"[^"]*")*[^"]*$)/g, '');
      } catch {
        // It is not JSON, so nothing may be sent.
      }
      expect(form.json.value).toBe(json);
    }
  }
});
