import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseAst } from 'vitest/node';
import { EXEMPTIONS, type Exemption } from './message-exemptions.ts';

/** A string of the source. Each computed part is a `HOLE`. */
export interface SourceText {
  /** Relative to `src`, with forward slashes. */
  readonly file: string;
  readonly line: number;
  readonly text: string;
  /** Whether a user may see it as (a part of) a message. */
  readonly isMessage: boolean;
}

/** A message on the page. Each placeholder, such as `<file>`, is a `HOLE`. */
export interface PageMessage {
  readonly line: number;
  /** As written. */
  readonly written: string;
  readonly text: string;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly [key: string]: unknown;
}

/** Stands for text that differs from message to message. */
export const HOLE = '\u{fffc}';
const PAGE = 'docs/errors.md';
const PLACEHOLDER = /<[a-z][^<>]*>/g;
const WORD = /[\p{L}\p{N}]+/gu;
const LETTER = /[\p{L}\p{N}]/u;
const TWO_WORDS = /\p{L}{2,}[,:;.)]? ["“(]?\p{L}/u;

/** Calls whose texts are the help of the command line, or that of a metric. So are the `EXAMPLES` of a command. */
const HELP = new Set([
  ...['option', 'argument', 'description', 'usage', 'addHelpText', 'optionsGroup', 'Option'],
  ...['repeatable', 'seconds', 'withTargetOptions', 'withOutput', 'withSessionOptions'],
  ...['gauge', 'counter', 'perServer'],
]);

/**
 * All strings of a TypeScript source. A string counts as a message if it has two words. Types, comparisons and help
 * texts are no messages.
 */
export function textsOf(source: string, file: string): SourceText[] {
  const texts: SourceText[] = [];
  const lineOf = (offset: number): number => source.slice(0, offset).split('\n').length;
  visit(parseAst(source, { lang: 'ts' }) as unknown as Node, true);
  return texts;

  function visit(node: Node, outer: boolean): void {
    if (node.type.startsWith('TS') && !isNode(node['expression']) && node.type !== 'TSParameterProperty') return;
    if (/^(Import|Export(All|Named))/.test(node.type) && node['source']) return;
    const isMessage = outer && !isHelp(node) && !isComparison(node);
    const text = textOf(node);
    if (text !== undefined && LETTER.test(text)) {
      texts.push({ file, line: lineOf(node.start), text, isMessage: isMessage && TWO_WORDS.test(withoutHoles(text)) });
    }
    for (const child of Object.values(node).flat()) if (isNode(child)) visit(child, isMessage);
  }
}

function withoutHoles(text: string): string {
  return text.replaceAll(HOLE, '').replaceAll(/\s+/g, ' ');
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string';
}

function isHelp(node: Node): boolean {
  if (node.type === 'VariableDeclarator') return (node['id'] as Node)['name'] === 'EXAMPLES';
  if (node.type !== 'CallExpression' && node.type !== 'NewExpression') return false;
  const { object, property, name } = node['callee'] as Node & { object?: Node; property?: Node };
  // `Failure.usage` is not the `usage` of a command.
  return object?.['name'] !== 'Failure' && HELP.has((property?.['name'] ?? name) as string);
}

function isComparison(node: Node): boolean {
  return node.type === 'BinaryExpression' && /^[!=]==?$/.test(node['operator'] as string);
}

/** The text of a string or a template, with holes. */
function textOf(node: Node): string | undefined {
  const written = node.type === 'Literal' ? node['value'] : undefined;
  if (typeof written === 'string') return normal(written);
  if (node.type !== 'TemplateLiteral') return undefined;
  return normal((node['quasis'] as Node[]).map((part) => (part['value'] as { cooked: string }).cooked).join(HOLE));
}

/** A text with holes in place of placeholders, and single spaces. */
function normal(text: string): string {
  return text.replaceAll(PLACEHOLDER, HOLE).replaceAll(/\s+/g, ' ').trim();
}

/** The messages of the page: all code in headings of the third level, and in paragraphs that begin with "Also:". */
export function messagesOn(page: string): PageMessage[] {
  const lines = page.split('\n');
  return lines.flatMap((line, index) => {
    const isMessage = line.startsWith('### ') || line.startsWith('Also: ');
    const spans = isMessage ? [...line.matchAll(/(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)/g)] : [];
    return spans.map(([, , code]) => {
      const written = /^ .* $/.test(code!) ? code!.slice(1, -1) : code!;
      return { line: index + 1, written, text: normal(written) };
    });
  });
}

/** Where the fixed parts of a text are in a message: pairs of offsets. Undefined if the text is not in the message. */
type Search = (message: string) => [number, number][] | undefined;

/** Searches for a text of the source. If it begins with a capital letter, it must begin a sentence. */
function searchFor(text: string): Search {
  const parts = text.split(HOLE);
  const longest = parts.reduce((one, other) => (other.length > one.length ? other : one));
  const sentence = /^\p{Lu}\p{Ll}/u.test(text) ? `(?<=^|[.:;(,"] ?|${HOLE}[.:;]? ?)` : '';
  const before = sentence || (/^[\p{L}\p{N}]/u.test(text) ? '(?<![\\p{L}\\p{N}])' : '');
  const after = /[\p{L}\p{N}]$/u.test(text) ? '(?![\\p{L}\\p{N}])' : '';
  const pattern = new RegExp(before + parts.map((part) => `(${escaped(part)})`).join('[^]*?') + after, 'du');
  return (message) =>
    message.includes(longest) ? (pattern.exec(message)?.indices!.slice(1) as [number, number][]) : undefined;
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}

/** All strings of the source, without tests. */
export function sourceTexts(root: string): SourceText[] {
  const source = path.join(root, 'src');
  return readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !/\.(test|d)\.ts$/.test(name))
    .toSorted()
    .flatMap((name) => textsOf(readFileSync(path.join(source, name), 'utf8'), name.replaceAll('\\', '/')));
}

/**
 * Checks that the page has an entry for each message of the source, and no others.
 *
 * @returns what to do, one problem each.
 */
export function checkMessages(root: string): string[] {
  const page = messagesOn(readFileSync(path.join(root, PAGE), 'utf8'));
  return compare(sourceTexts(root), page, EXEMPTIONS);
}

export function compare(
  texts: readonly SourceText[],
  page: readonly PageMessage[],
  exemptions: readonly Exemption[],
): string[] {
  const used = new Set<string>();
  const isExempt = ({ file, text }: SourceText): boolean =>
    exemptions.some((exemption) => {
      const found = exempted(exemption, file, text);
      if (found !== undefined) used.add(found);
      return found !== undefined;
    });
  const messages = texts.filter((text) => text.isMessage && !isExempt(text));
  const known = new Map(page.map((message) => [message, new Set<number>()]));
  const files = new Map(page.map((message) => [message, new Set<string>()]));
  const problems: string[] = [];
  for (const { file, line, text } of messages) {
    const search = searchFor(text);
    let found = false;
    for (const [message, covered] of known) {
      const positions = search(message.text);
      if (!positions) continue;
      found = true;
      cover(covered, positions);
      files.get(message)!.add(file);
    }
    if (!found) {
      const shown = text.replaceAll(HOLE, '<…>');
      problems.push(
        `src/${file}:${line}: ${PAGE} has no entry for this message. Add one: ### \`${shown}\`, with what it means and what ` +
          'to do. If no user sees it, add it to scripts/message-exemptions.ts, with the reason.',
      );
    }
  }
  // Short texts, such as `${name} failed: ${why}`, need no entry, but may have one.
  const unknown = new Set(page.filter((message) => files.get(message)!.size === 0));
  for (const { file, text } of texts) {
    const search = searchFor(text);
    for (const [message, covered] of known) {
      const from = files.get(message)!;
      const positions = from.has(file) || unknown.has(message) ? search(message.text) : undefined;
      if (!positions) continue;
      cover(covered, positions);
      from.add(file);
    }
  }
  for (const [message, covered] of known) {
    const from = files.get(message)!;
    const strange = Array.from(message.text.matchAll(WORD))
      .filter(({ index }) => !covered.has(index))
      .map(([word]) => word);
    if (from.size === 0)
      problems.push(`${PAGE}:${message.line}: no message of src is \`${message.written}\`. Remove it.`);
    else if (strange.length > 0) {
      problems.push(
        `${PAGE}:${message.line}: ${strange.join(', ')} in \`${message.written}\` is in no message of ${[...from].join(', ')}. ` +
          'Correct it, or write a placeholder: <name>.',
      );
    }
  }
  for (const { file, texts: listed } of exemptions) {
    for (const text of listed ?? ['']) {
      const key = keyOf(file, text);
      if (!used.has(key)) problems.push(`scripts/message-exemptions.ts: no text of src is ${key}. Remove it.`);
    }
  }
  return problems;
}

function cover(covered: Set<number>, positions: readonly [number, number][]): void {
  for (const [start, end] of positions) for (let at = start; at < end; at += 1) covered.add(at);
}

function keyOf(file: string, text: string): string {
  return text === '' ? file : `${file}: ${text}`;
}

/** The key of the exemption that applies to a text. */
function exempted({ file: prefix, texts }: Exemption, file: string, text: string): string | undefined {
  if (!file.startsWith(prefix)) return undefined;
  if (!texts) return keyOf(prefix, '');
  const found = texts.find((each) => normal(each.replaceAll('<>', HOLE)) === text);
  return found === undefined ? undefined : keyOf(prefix, found);
}
