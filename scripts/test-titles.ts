import { format } from 'node:util';
import { parseAst } from 'vitest/node';

/** The separator between the titles of nested suites and the title of a test. */
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
 * `%s`. A table whose rows are literals adds the title of each row. A computed title is given as `${…}` with its
 * source.
 *
 * @throws {SyntaxError} if the source cannot be parsed
 */
export function testTitles(source: string): Set<string> {
  const titles = new Set<string>();
  visit(parseAst(source, { lang: 'ts' }) as unknown as Node, ['']);

  /** `prefixes` are the titles of the suites around a node. There are several if a suite is a table. */
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

  /** A title as written, and the title that each row of the table gives. */
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

/** The first name in a callee: `test` in `test.each([…])`. */
function rootOf(callee: Node): string | undefined {
  const inner = callee['object'] ?? callee['callee'] ?? callee['tag'];
  return isNode(inner) ? rootOf(inner) : (callee['name'] as string | undefined);
}

/** The rows of an inline `test.each(…)` table. A value that is not a literal is undefined. */
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
