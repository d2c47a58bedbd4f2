import { isObject, type JsonObject } from '../../src/jsonrpc/message.ts';
import { TooLarge, type SchemaReader } from './flat-schema.ts';
import { jsonOf } from './json-text.ts';

/** One of the values to choose from. */
export interface Option {
  readonly label: string;
  /** The value as JSON. */
  readonly json: string;
}

/** One of the schemas to choose from. */
export interface Branch {
  readonly label: string;
  readonly schema: unknown;
}

/** The facts about a field that do not depend on its kind. */
export interface Notes {
  readonly title: string | undefined;
  readonly description: string | undefined;
  /** As JSON. Undefined if there is none. */
  readonly initial: string | undefined;
  /** Whether `null` is allowed beside what the kind allows. */
  readonly nullable: boolean;
}

export interface TextShape extends Notes {
  readonly kind: 'text';
  readonly format: string | undefined;
  readonly long: boolean;
}
export interface NumberShape extends Notes {
  readonly kind: 'number';
  readonly integer: boolean;
}
/** `enum`, `const`, booleans and null. */
export interface ChoiceShape extends Notes {
  readonly kind: 'choice';
  readonly options: readonly Option[];
}
export interface ObjectShape extends Notes {
  readonly kind: 'object';
  readonly properties: ReadonlyMap<string, unknown>;
  readonly required: ReadonlySet<string>;
  /** The schema of other properties. False if there must be none. */
  readonly others: unknown;
  /**
   * Whether the schema explicitly allows other properties. JSON Schema also allows them if it does not mention them.
   */
  readonly open: boolean;
}
export interface ListShape extends Notes {
  readonly kind: 'list';
  /** The schemas of the first items. */
  readonly first: readonly unknown[];
  /** The schema of the items after them. False if there must be none. */
  readonly rest: unknown;
}
export interface UnionShape extends Notes {
  readonly kind: 'union';
  readonly branches: readonly Branch[];
}
/** A field for any JSON. */
export interface JsonShape extends Notes {
  readonly kind: 'json';
  /** Why the value is edited as JSON. Undefined if the schema allows anything. */
  readonly why: string | undefined;
}
/** What kind of field a schema describes. The schemas inside it are not read yet. */
export type Shape = TextShape | NumberShape | ChoiceShape | ObjectShape | ListShape | UnionShape | JsonShape;

/** Longer lists of values or branches would be useless in a form. */
const MAX_OPTIONS = 1_000;
const MAX_BRANCHES = 100;
/** What each value or branch to choose from costs, because a browser needs long for thousands of them. */
const OPTION_STEPS = 8;
/** A text with a lower maximum length gets an input of one line. */
const SHORT = 100;

const STRUCTURE = ['type', '$ref', 'enum', 'const', 'items', 'prefixItems', 'anyOf', 'oneOf', 'allOf', 'properties'];

/** The shape of a field by its schema, of 2020-12, draft-07 or with the `nullable` of OpenAPI 3.0. */
export function shapeOf(schema: unknown, reader: SchemaReader): Shape {
  try {
    return flatShape(reader.flat(schema), reader, 0);
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error;
    return { ...notesOf(isObject(schema) ? schema : {}), initial: undefined, kind: 'json', why: error.message };
  }
}

/** @param depth how many alternatives without a choice lie around the schema. */
function flatShape(schema: JsonObject, reader: SchemaReader, depth: number): Shape {
  if (depth > MAX_BRANCHES) throw new TooLarge('its schema is nested too deeply');
  const notes = notesOf(schema);
  reader.take((notes.initial?.length ?? 0) >>> 8);
  const types = typesOf(schema);
  const nullable = schema['nullable'] === true;
  if ('const' in schema || Array.isArray(schema['enum'])) return choice(notes, optionsOf(schema, reader), nullable);
  const union = unionShape(schema, notes, reader, depth);
  if (union) return union;
  if (types.length > 1) {
    const others = types.filter((type) => type !== 'null');
    const mayBeNull = nullable || others.length < types.length;
    if (others.length === 1) return plain(others[0], schema, notes, mayBeNull);
    const { title: _, description: __, default: ___, nullable: ____, ...rest } = schema;
    const branches = others.map((type) => ({ label: type, schema: { ...rest, type } }));
    return { ...notes, kind: 'union', branches, nullable: mayBeNull };
  }
  return plain(types[0], schema, notes, nullable);
}

function plain(type: string | undefined, schema: JsonObject, notes: Notes, nullable: boolean): Shape {
  const shape: Shape = { ...notes, ...plainShape(type, schema) };
  return shape.kind === 'choice' ? choice(notes, shape.options, nullable) : { ...shape, nullable };
}

type Bare = Shape extends infer One ? (One extends Shape ? Omit<One, keyof Notes> : never) : never;

function plainShape(type: string | undefined, schema: JsonObject): Bare {
  switch (type) {
    case 'string': {
      const { format, maxLength, pattern } = schema;
      const long =
        format === undefined && pattern === undefined && !(typeof maxLength === 'number' && maxLength <= SHORT);
      return { kind: 'text', format: typeof format === 'string' ? format : undefined, long };
    }
    case 'number':
    case 'integer':
      return { kind: 'number', integer: type === 'integer' };
    case 'boolean':
      return { kind: 'choice', options: [true, false].map((value) => optionOf(value)) };
    case 'null':
      return { kind: 'choice', options: [optionOf(null)] };
    case 'object':
      return objectShape(schema);
    case 'array': {
      const { prefixItems, items, additionalItems, unevaluatedItems } = schema;
      const listed: unknown = Array.isArray(prefixItems) ? prefixItems : items;
      if (!Array.isArray(listed)) return { kind: 'list', first: [], rest: items ?? true };
      // In draft-07, `items` is what `prefixItems` is in 2020-12, and `additionalItems` what `items` is.
      const rest: unknown = (listed === items ? additionalItems : items) ?? unevaluatedItems ?? true;
      return listed.length > MAX_BRANCHES
        ? { kind: 'json', why: 'its list is too long' }
        : { kind: 'list', first: listed, rest };
    }
    default:
      return { kind: 'json', why: undefined };
  }
}

function objectShape(schema: JsonObject): Omit<ObjectShape, keyof Notes> {
  const { properties, required, patternProperties, additionalProperties, unevaluatedProperties } = schema;
  const named = new Map<string, unknown>(Object.entries(isObject(properties) ? properties : {}));
  const patterns: unknown[] = Object.values(isObject(patternProperties) ? patternProperties : {});
  const others: unknown = additionalProperties ?? unevaluatedProperties;
  // If a name matches several schemas, only validation shows which ones apply.
  const single = patterns.length === 1 && (others === false || others === undefined) ? patterns[0] : true;
  const names = Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [];
  for (const name of names) if (!named.has(name)) named.set(name, others === false ? true : (others ?? true));
  return {
    kind: 'object',
    properties: named,
    required: new Set(names),
    others: patterns.length > 0 ? single : (others ?? true),
    open: patterns.length > 0 || (others !== undefined && others !== false) || named.size === 0,
  };
}

/**
 * A choice of schemas. Undefined if the alternatives are only constraints, for example which properties are required.
 */
function unionShape(schema: JsonObject, notes: Notes, reader: SchemaReader, depth: number): Shape | undefined {
  const keyword = ['oneOf', 'anyOf'].find((each) => Array.isArray(schema[each]));
  if (keyword === undefined) return undefined;
  const { [keyword]: given, ...base } = schema;
  const schemas = given as unknown[];
  if (schemas.length > MAX_BRANCHES) throw new TooLarge(`its schema has ${schemas.length} alternatives`);
  reader.take(schemas.length * OPTION_STEPS);
  const hasStructure = schemas.some((one) => isObject(one) && STRUCTURE.some((each) => each in one));
  if (!hasStructure) return flatShape(base, reader, depth + 1);
  // Only what the branch itself says, without what the schema says for all branches.
  const { title: _, description: __, default: ___, nullable, ...common } = base;
  const flats = schemas.map((one) => ({ one, flat: reader.flat(one) }));
  const others = flats.filter(({ flat }) => !isNull(flat));
  const mayBeNull = nullable === true || others.length < flats.length;
  const [first, second] = others;
  if (!first) return choice(notes, [optionOf(null)], false);
  if (!second) {
    const whole = { ...reader.flat({ allOf: [first.flat, common] }), ...annotations(base) };
    const shape = flatShape(whole, reader, depth + 1);
    return shape.kind === 'choice' && mayBeNull
      ? choice(shape, shape.options, true)
      : { ...shape, nullable: mayBeNull || shape.nullable };
  }
  if (others.every(({ flat }) => 'const' in flat || Array.isArray(flat['enum']))) {
    const options = others.flatMap(({ flat }) => optionsOf(flat, reader));
    return choice(notes, options, mayBeNull);
  }
  const branches = others.map(({ one, flat }) => ({ label: labelOf(one, flat), schema: { allOf: [one, common] } }));
  return { ...notes, kind: 'union', branches: distinct(branches), nullable: mayBeNull };
}

function annotations(schema: JsonObject): JsonObject {
  const keywords = ['title', 'description', 'default'].filter((keyword) => keyword in schema);
  return Object.fromEntries(keywords.map((keyword) => [keyword, schema[keyword] as unknown]));
}

function notesOf(schema: JsonObject): Notes {
  const { title, description, default: initial } = schema;
  return {
    title: typeof title === 'string' && title !== '' ? title : undefined,
    description: typeof description === 'string' && description !== '' ? description : undefined,
    initial: jsonOf(initial),
    nullable: false,
  };
}

/** The types of a schema. Without `type`, the type that its other keywords are for. */
function typesOf(schema: JsonObject): string[] {
  const { type } = schema;
  if (Array.isArray(type)) return [...new Set(type.filter((each) => typeof each === 'string'))];
  if (typeof type === 'string') return [type];
  const has = (...keywords: string[]): boolean => keywords.some((keyword) => keyword in schema);
  if (has('properties', 'additionalProperties', 'patternProperties', 'required')) return ['object'];
  if (has('items', 'prefixItems')) return ['array'];
  if (has('pattern', 'format', 'minLength', 'maxLength')) return ['string'];
  return has('minimum', 'maximum', 'multipleOf') ? ['number'] : [];
}

function isNull(schema: JsonObject): boolean {
  if ('const' in schema) return schema['const'] === null;
  return schema['type'] === 'null';
}

/** Null is one of the options. */
function choice(notes: Notes, given: readonly Option[], nullable: boolean): ChoiceShape {
  const options = new Map(given.map((option) => [option.json, option]));
  if (nullable && !options.has('null')) options.set('null', optionOf(null));
  if (options.size > MAX_OPTIONS) throw new TooLarge(`its schema has ${options.size} values`);
  return { ...notes, nullable: false, kind: 'choice', options: [...options.values()] };
}

/** The values of `enum` or `const`. Their titles are in `enumNames` (MCP 2025-06-18, client/elicitation). */
function optionsOf(schema: JsonObject, reader: SchemaReader): Option[] {
  if (!Array.isArray(schema['enum'])) {
    const { const: value, title } = schema;
    return [optionOf(value, title ?? (typeof value === 'string' ? value : undefined))];
  }
  const values = schema['enum'] as unknown[];
  reader.take(values.length * OPTION_STEPS);
  const names: unknown = schema['enumNames'];
  const texts = values.every((value) => typeof value === 'string');
  return values.map((value, at) => {
    const name: unknown = Array.isArray(names) ? names[at] : undefined;
    const option = optionOf(value, name ?? (texts ? value : undefined));
    reader.take(option.json.length >>> 8);
    return option;
  });
}

function optionOf(value: unknown, name?: unknown): Option {
  const json = jsonOf(value);
  if (json === undefined) throw new TooLarge('one of its values is nested too deeply');
  return { label: typeof name === 'string' && name !== '' ? name : json, json };
}

/** A name for a branch: its title, its discriminator, the name of its definition, or its type. */
function labelOf(schema: unknown, flat: JsonObject): string {
  const { title, properties } = flat;
  if (typeof title === 'string' && title !== '') return title;
  for (const [name, property] of Object.entries(isObject(properties) ? properties : {}).slice(0, MAX_BRANCHES)) {
    if (isObject(property) && 'const' in property) return `${name}: ${text(property['const'])}`;
  }
  const reference: unknown = isObject(schema) ? schema['$ref'] : undefined;
  if (typeof reference === 'string' && reference !== '#') return reference.slice(reference.lastIndexOf('/') + 1);
  if ('const' in flat) return text(flat['const']);
  const types = typesOf(flat).map((type) => (type === 'array' ? listLabel(flat['items']) : type));
  return types.join(' or ') || 'any JSON';
}

function listLabel(items: unknown): string {
  const types = isObject(items) ? typesOf(items) : [];
  return types.length === 0 ? 'array' : `array of ${types.join(' or ')}`;
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : (jsonOf(value) ?? '');
}

/** Branches with the same label are counted. */
function distinct(branches: readonly Branch[]): Branch[] {
  const counts = new Map<string, number>();
  return branches.map(({ label, schema }) => {
    const count = (counts.get(label) ?? 0) + 1;
    counts.set(label, count);
    return { label: count === 1 ? label : `${label} (${count})`, schema };
  });
}
