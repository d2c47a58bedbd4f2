import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import type { Subschema } from './subschemas.ts';

/**
 * Refuses what no value could ever be checked by, as far as it shows without compiling: a `pattern` that is no regular
 * expression, and a reference within the schema that leads nowhere. References below an `$id` of their own are left to the
 * compiler.
 *
 * @param subschemas of `subschemasOf`, the whole schema first.
 * @throws TypeError that names the first of them.
 */
export function refuseUnusable(subschemas: readonly Subschema[], name: string): void {
  const root = subschemas[0];
  if (!root) return;
  const anchors = new Set(subschemas.flatMap(({ schema }) => anchorsOf(schema)));
  for (const { schema, where, base } of subschemas) {
    const at = (keyword: string): string => (where === '' ? keyword : `${where}.${keyword}`);
    if ('pattern' in schema) checkPattern(schema['pattern'], `${name}: ${at('pattern')}`);
    if (isObject(schema['patternProperties'])) {
      for (const pattern of Object.keys(schema['patternProperties'])) {
        checkPattern(pattern, `${name}: ${at('patternProperties')}`);
      }
    }
    if (base !== root.base) continue;
    for (const keyword of ['$ref', '$dynamicRef']) {
      const reference: unknown = schema[keyword];
      if (typeof reference !== 'string' || !reference.startsWith('#')) continue;
      if (leadsSomewhere(reference.slice(1), root.schema, anchors)) continue;
      throw new TypeError(
        `${name} refers to ${JSON.stringify(reference)} (${at(keyword)}), where there is no schema; write one there, or ` +
          'refer to one that there is',
      );
    }
  }
}

function checkPattern(pattern: unknown, where: string): void {
  try {
    // As the compiler reads it (2020-12 validation, section 6.3.3; core, section 6.4).
    if (typeof pattern === 'string') return void new RegExp(pattern, 'u');
  } catch (cause) {
    throw new TypeError(`${where} is no regular expression: ${(cause as Error).message}`, { cause });
  }
  throw new TypeError(`${where} must be a string that is a regular expression`);
}

/** The names by which a schema can be referred to; in draft-07 that is an `$id` which is a fragment alone. */
function anchorsOf({ $anchor, $dynamicAnchor, $id }: JsonObject): string[] {
  const fragment = typeof $id === 'string' && $id.startsWith('#') ? $id.slice(1) : undefined;
  return [$anchor, $dynamicAnchor, fragment].filter((each) => typeof each === 'string');
}

/** Whether a fragment names the root, an anchor, or by JSON Pointer (RFC 6901) a schema. */
function leadsSomewhere(fragment: string, root: JsonObject, anchors: ReadonlySet<string>): boolean {
  let text: string;
  try {
    text = decodeURIComponent(fragment);
  } catch {
    return false;
  }
  if (!text.startsWith('/')) return text === '' || anchors.has(text);
  let found: unknown = root;
  for (const step of text.slice(1).split('/')) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return false;
    found = (found as Record<string, unknown>)[key];
  }
  return isObject(found) || typeof found === 'boolean';
}
