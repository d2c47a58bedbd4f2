import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { NESTED, testTitles } from './test-titles.ts';

/** A test that proves a statement. */
export interface Proof {
  /** Relative to the root of the project, with forward slashes. */
  readonly file: string;
  /** As `testTitles` gives it. */
  readonly title: string;
}

/** One statement of the specification. */
export interface Statement {
  /** Counted from 1 within its page. */
  readonly number: string;
  readonly level: string;
  /** The statement in the project's words. */
  readonly text: string;
  /** The tests that prove it. Empty if it does not bind this package; then there is a reason. */
  readonly proofs: readonly Proof[];
  /** Why no test proves it. */
  readonly reason: string | undefined;
}

/** A page of the specification. */
export interface Page {
  /** The path below the revision's folder, without extension: `basic/lifecycle`. */
  readonly path: string;
  /** The number of statements in its heading. */
  readonly count: number;
  readonly statements: readonly Statement[];
}

const LEVELS = new Set(
  'MUST,MUST NOT,REQUIRED,SHALL,SHALL NOT,SHOULD,SHOULD NOT,RECOMMENDED,NOT RECOMMENDED'.split(','),
);
const HEADER = ['#', 'Level', 'Statement', 'Proof'];
const OVERVIEW = 'docs/ledger.md';
const FOLDER = 'docs/ledger';

/**
 * Parses the ledger of one revision.
 *
 * @throws {Error} at a line that breaks the format
 */
export function parseLedger(markdown: string): Page[] {
  const pages: (Page & { statements: Statement[] })[] = [];
  for (const [index, line] of markdown.split('\n').entries()) {
    const fail = (why: string): never => {
      throw new Error(`line ${index + 1}: ${why}`);
    };
    if (line.startsWith('## ')) {
      const heading = /^## (\S+) \((\d+)\)$/.exec(line) ?? fail("a page's heading is `## <path> (<statements>)`");
      pages.push({ path: heading[1]!, count: Number(heading[2]), statements: [] });
    } else if (line.startsWith('|')) {
      const cells = cellsOf(line);
      if (cells.length !== HEADER.length) fail(`a row has the cells ${HEADER.join(', ')}`);
      if (cells.every((cell, i) => cell === HEADER[i]) || cells.every((cell) => /^:?-+:?$/.test(cell))) continue;
      const page = pages.at(-1) ?? fail('a row before the first heading');
      const [number, level, text, proof] = cells as [string, string, string, string];
      page.statements.push({ number, level, text, ...(parseProof(proof) ?? fail(PROOF_FORMAT)) });
    }
  }
  return pages;
}

const PROOF_FORMAT = `a proof is \`file${NESTED}title\` in backticks, several of them joined by <br>, or — and a reason`;

function parseProof(cell: string): Pick<Statement, 'proofs' | 'reason'> | undefined {
  if (cell === '' || cell.startsWith('—')) return { proofs: [], reason: cell.slice(1).trim() || undefined };
  const proofs: Proof[] = [];
  for (const part of cell.split('<br>')) {
    const [, file, title] = new RegExp(`^\`([^\`]+?)${NESTED}([^\`]+)\`$`).exec(part.trim()) ?? [];
    if (file === undefined || title === undefined) return undefined;
    proofs.push({ file, title });
  }
  return { proofs, reason: undefined };
}

/** The cells of a table row. A vertical line inside a cell is written `\|`. */
function cellsOf(line: string): string[] {
  const cells = line.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'));
  return cells.slice(1, -1);
}

/** The totals of a ledger. */
export interface Count {
  readonly statements: number;
  /** Statements that tests prove. */
  readonly proven: number;
  /** Statements that bind others, or concern an optional feature that is not supported. */
  readonly foreign: number;
  /** Statements that bind this package and that it does not follow. Their reason begins with `Departure:`. */
  readonly departures: number;
}

export function countLedger(pages: readonly Page[]): Count {
  const all = pages.flatMap((page) => page.statements);
  const proven = all.filter(({ proofs }) => proofs.length > 0).length;
  const departures = all.filter(({ reason }) => reason?.startsWith('Departure:')).length;
  return { statements: all.length, proven, foreign: all.length - proven - departures, departures };
}

/**
 * Checks `docs/ledger/*.md` under `root`, and the counts in `docs/ledger.md`: every statement has a reason or a proof
 * that exists, and all numbers are correct. Returns the problems, each with its row.
 */
export function checkLedger(root: string): string[] {
  const titles = new Map<string, Set<string>>();
  const titlesOf = (file: string): Set<string> => {
    const found = titles.get(file) ?? testTitles(readFileSync(path.join(root, file), 'utf8'));
    titles.set(file, found);
    return found;
  };
  const problems: string[] = [];
  const counts: string[][] = [];
  const files = readdirSync(path.join(root, FOLDER)).filter((name) => name.endsWith('.md'));
  for (const name of files.toSorted()) {
    try {
      const pages = parseLedger(readFileSync(path.join(root, FOLDER, name), 'utf8'));
      problems.push(...checkPages(pages).map((problem) => `${FOLDER}/${name}, ${problem}`));
      for (const { where, proof } of proofsOf(pages)) {
        const why = whyNoProof(root, proof, titlesOf);
        if (why !== undefined) problems.push(`${FOLDER}/${name}, ${where}: ${why}`);
      }
      const { statements, proven, foreign, departures } = countLedger(pages);
      const numbers = [statements, proven, foreign, departures].map(String);
      counts.push([`[${name.slice(0, -3)}](ledger/${name})`, ...numbers]);
    } catch (error) {
      problems.push(`${FOLDER}/${name}, ${(error as Error).message}`);
    }
  }
  return [...problems, ...checkOverview(readFileSync(path.join(root, OVERVIEW), 'utf8'), counts)];
}

function checkPages(pages: readonly Page[]): string[] {
  const problems: string[] = [];
  for (const [where, same] of groups(pages, (page) => page.path)) {
    if (same.length > 1) problems.push(`${where}: has ${same.length} headings`);
  }
  for (const { path: page, count, statements } of pages) {
    if (count !== statements.length) {
      problems.push(`${page}: the heading counts ${count} statements, the table has ${statements.length}`);
    }
    for (const [text, same] of groups(statements, (statement) => statement.text)) {
      const numbers = same.map(({ number }) => number).join(' and ');
      if (same.length > 1) problems.push(`${page} ${numbers}: have the same statement, "${text}"`);
    }
    for (const [index, { number, level, text, proofs, reason }] of statements.entries()) {
      const where = `${page} ${number}`;
      if (number !== String(index + 1)) problems.push(`${where}: should have the number ${index + 1}`);
      if (!LEVELS.has(level)) problems.push(`${where}: "${level}" is not a level`);
      if (text === '') problems.push(`${where}: has no statement`);
      if (proofs.length === 0 && reason === undefined) problems.push(`${where}: has neither proof nor reason`);
      if (groups(proofs, ({ file, title }) => file + NESTED + title).size < proofs.length) {
        problems.push(`${where}: names a proof twice`);
      }
    }
  }
  return problems;
}

function* proofsOf(pages: readonly Page[]): Generator<{ where: string; proof: Proof }> {
  for (const page of pages) {
    for (const { number, proofs } of page.statements) {
      for (const proof of proofs) yield { where: `${page.path} ${number}`, proof };
    }
  }
}

function whyNoProof(root: string, { file, title }: Proof, titlesOf: (file: string) => Set<string>): string | undefined {
  if (!file.endsWith('.test.ts') || !existsSync(path.join(root, file))) return `there is no test file ${file}`;
  return titlesOf(file).has(title) ? undefined : `${file} has no test "${title}"`;
}

/** The overview must have exactly one row for each ledger, with its counts. */
function checkOverview(markdown: string, counts: readonly string[][]): string[] {
  const rows = markdown.split('\n').filter((line) => line.startsWith('| ['));
  const said = new Set(rows.map((line) => cellsOf(line).join(' | ')));
  const wanted = new Set(counts.map((cells) => cells.join(' | ')));
  return [
    ...[...wanted].filter((row) => !said.has(row)).map((row) => `${OVERVIEW}: should have the row "| ${row} |"`),
    ...[...said].filter((row) => !wanted.has(row)).map((row) => `${OVERVIEW}: should not have the row "| ${row} |"`),
  ];
}

function groups<T>(values: readonly T[], keyOf: (value: T) => string): Map<string, T[]> {
  const found = new Map<string, T[]>();
  for (const value of values) found.set(keyOf(value), [...(found.get(keyOf(value)) ?? []), value]);
  return found;
}
