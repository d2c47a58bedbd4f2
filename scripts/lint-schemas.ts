import { readFileSync } from 'node:fs';

type Json = Record<string, unknown>;

/**
 * The specification's JSON Schema of a revision as the linter ships it: without descriptions, and with one property for
 * each definition, so that one compiled schema checks values by any of them.
 *
 * @param file the `schema.json` of the revision.
 */
export function shippedSchema(file: string): Json {
  const schema = JSON.parse(readFileSync(file, 'utf8')) as Json;
  const keyword = '$defs' in schema ? '$defs' : 'definitions';
  const definitions = withoutDescriptions(schema[keyword]) as Json;
  const properties = Object.fromEntries(
    Object.keys(definitions).map((name) => [name, { $ref: `#/${keyword}/${name}` }]),
  );
  return { $schema: schema['$schema'], [keyword]: definitions, properties };
}

/** The source of the module that has the schema. It is one text, because parsing it is faster than a literal. */
export function schemaModule(file: string): string {
  const text = JSON.stringify(shippedSchema(file)).replaceAll('\\', '\\\\').replaceAll("'", "\\'");
  return `// Made by scripts/write-lint-schemas.ts from the specification's schema.json.\nexport const schema =\n  '${text}';\n`;
}

function withoutDescriptions(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDescriptions);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([key, each]) => key !== 'description' || typeof each !== 'string');
  return Object.fromEntries(kept.map(([key, each]) => [key, withoutDescriptions(each)]));
}
