import { format } from 'node:util';
import { parseAst } from 'vitest/node';

/** What joins the titles of nested suites and of a test to its full title. */
export const NESTED = ' › ';

const SUITES = new Set(['describe', 'suite']);
const TESTS = new Set(['test', 'it']);
const PLACEHOLDER = /%[sdifjoO]/g;

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

/**
 * The full titles of all tests that a TypeScript source declares, as written: a template keeps its `${…}`, a table its
 * `%s`. A table whose rows are literals adds the title of each row. A title that is computed is `${…}` with its source.
 *
 * @throws {SyntaxError} when the source cannot be parsed
 */
export function testTitles(source: string): Set<string> {
  const titles = new Set<string>();
  visit(parseAst(source, { lang: 'ts' }) as unknown as Node, ['']);

  /** `prefixes` are the titles of the suites around a node: several, where a suite is a table. */
  function visit(node: Node, prefixes: readonly string[]): void {
    const [title, body] = node.type === 'CallExpression' ? (node['arguments'] as Node[]) : [];
    const name = title && body && rootOf(node['callee'] as Node);
    if (name === undefined || !(TESTS.has(name) || SUITES.has(name))) return visitChildren(node, prefixes);
    const own = titlesOf(title!, tableOf(node['callee'] as Node));
    const full = prefixes.flatMap((prefix) => own.map((one) => prefix + one));
    if (TESTS.has(name)) for (const one of full) titles.add(one);
    else
      visitChildren(
        node,
        full.map((one) => one + NESTED),
      );
  }

  function visitChildren(node: Node, prefixes: readonly string[]): void {
    for (const child of Object.values(node).flat()) if (isNode(child)) visit(child, prefixes);
  }

  /** A title as written, and as each row of the table makes it. */
  function titlesOf(title: Node, rows: readonly (readonly unknown[])[]): string[] {
    const written = literalOf(title);
    if (typeof written !== 'string') {
      const text = source.slice(title.start, title.end);
      return [title.type === 'TemplateLiteral' ? text.slice(1, -1) : `\${${text}}`];
    }
    const count = written.match(PLACEHOLDER)?.length ?? 0;
    const made = rows
      .map((row) => row.slice(0, count))
      .filter((values) => values.length === count && !values.includes(undefined))
      .map((values) => format(written, ...values));
    return [...new Set([written, ...made])];
  }

  return titles;
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string';
}

/** The name that a callee begins with: `test` of `test.each([…])`. */
function rootOf(callee: Node): string | undefined {
  const inner = callee['object'] ?? callee['callee'] ?? callee['tag'];
  return isNode(inner) ? rootOf(inner) : (callee['name'] as string | undefined);
}

/** The rows of the table that `test.each(…)` was given in place; what is no literal in them is undefined. */
function tableOf(callee: Node): unknown[][] {
  const member = callee['callee'] as Node | undefined;
  if (callee.type !== 'CallExpression' || (member?.['property'] as Node | undefined)?.['name'] !== 'each') return [];
  const table = (callee['arguments'] as Node[]).map(bare)[0];
  if (table?.type !== 'ArrayExpression') return [];
  return elementsOf(table).map((row) =>
    row.type === 'ArrayExpression' ? elementsOf(row).map(literalOf) : [literalOf(row)],
  );
}

function elementsOf(array: Node): Node[] {
  return (array['elements'] as (Node | null)[]).filter((element) => element !== null).map(bare);
}

/** An expression without `as const` and the like. */
function bare(node: Node): Node {
  return node.type.startsWith('TS') && isNode(node['expression']) ? bare(node['expression']) : node;
}

function literalOf(node: Node): unknown {
  if (node.type === 'Literal') return node['value'];
  const quasis = node.type === 'TemplateLiteral' ? (node['quasis'] as Node[]) : [];
  return quasis.length === 1 ? (quasis[0]!['value'] as { cooked: string }).cooked : undefined;
}
