import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** One import of a source file, static or dynamic, of values or only of types. */
export interface Import {
  /** The imported module, as written. Undefined for a dynamic import with a computed name. */
  readonly specifier: string | undefined;
  readonly line: number;
}

/** A breach of the import rules. Paths are relative to the root of the project, with forward slashes. */
export interface Violation {
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

/** Constants that any part may import. */
const VERSION = 'version.ts';
const BELOW_WIRE = ['base', 'jsonrpc', 'schema', 'protocol', 'core', 'transport', 'store'];
const BELOW_SERVER = [...BELOW_WIRE, 'wire'];

/**
 * What each part of `src` may import from other parts: whole folders or single files. `cli` and the files directly in
 * `src`, which put the parts together, may import anything.
 */
const ALLOWED: Record<string, readonly string[]> = {
  base: [],
  jsonrpc: ['base'],
  schema: ['base', 'jsonrpc'],
  protocol: ['base', 'jsonrpc', 'schema'],
  core: ['base', 'jsonrpc', 'schema', 'protocol'],
  wire: [
    'base',
    'jsonrpc',
    'schema',
    'protocol',
    'core',
    'store/bus.ts',
    'store/state.ts',
    'transport/transport.ts',
    'transport/carrier.ts',
  ],
  store: ['base', 'jsonrpc', 'schema', 'protocol'],
  transport: [
    'base',
    'jsonrpc',
    'schema',
    'protocol',
    'store/bus.ts',
    'store/event-log.ts',
    'store/session-store.ts',
    'store/memory.ts',
    'store/state.ts',
  ],
  auth: ['base', 'jsonrpc', 'schema', 'protocol', 'transport/transport.ts', 'transport/http'],
  server: BELOW_SERVER,
  client: BELOW_SERVER,
  bridge: [...BELOW_SERVER, 'client'],
  inspect: [
    'base',
    'jsonrpc',
    // The types and names of the steps, which the page shows.
    'auth/steps/step.ts',
    'protocol/logging.ts',
    'protocol/methods.ts',
    'protocol/revisions.ts',
    'transport/wiretap.ts',
    // The types of comparisons, which the page shows.
    'replay/compare.ts',
    'replay/replay.ts',
  ],
  lint: ['base', 'jsonrpc', 'schema', 'protocol', 'inspect'],
  check: [...BELOW_SERVER, 'client', 'inspect', 'lint'],
  inspector: [...BELOW_SERVER, 'auth', 'client', 'inspect', 'replay'],
  mock: [...BELOW_WIRE, 'inspect', 'lint/model', 'wire/requests-in-flight.ts', 'wire/total-load.ts'],
  replay: [...BELOW_SERVER, 'client', 'inspect', 'mock'],
  export: ['base', 'jsonrpc', 'protocol', 'auth/scrub.ts', 'inspect', 'lint/model', 'mock', 'replay'],
  operate: [...BELOW_WIRE, 'auth'],
  testing: [...BELOW_WIRE, 'auth/client/token-store.ts', 'client', 'mock'],
  cli: [
    ...BELOW_SERVER,
    'auth',
    'server',
    'client',
    'bridge',
    'operate',
    'inspect',
    'lint',
    'check',
    'inspector',
    'mock',
    'replay',
    'export',
    'testing',
  ],
};

/** Files that import a file of the user, whose name only the user knows. */
const OF_USERS: ReadonlySet<string> = new Set(['cli/dev/child.ts']);

/**
 * Checks the sources under `<root>/src`: parts import each other in one direction only, no transport imports another,
 * and there is no import cycle. Tests may import anything.
 */
export function checkImports(root: string): Violation[] {
  const files = readdirSync(path.join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .toSorted();
  const violations: Violation[] = [];
  const graph = new Map<string, { target: string; line: number }[]>();
  for (const file of files) {
    const edges: { target: string; line: number }[] = [];
    graph.set(file, edges);
    const report = (line: number, message: string): void =>
      void violations.push({ file: `src/${file}`, line, message });
    for (const { specifier, line } of importsOf(readFileSync(path.join(root, 'src', file), 'utf8'))) {
      if (specifier === undefined) {
        if (OF_USERS.has(file)) continue;
        report(line, 'a dynamic import of something computed cannot be checked');
      } else if (specifier.startsWith('.')) {
        const target = path.posix.normalize(path.posix.join(path.posix.dirname(file), specifier));
        edges.push({ target, line });
        const wrong = whyNot(file, target);
        if (wrong !== undefined) report(line, wrong);
      } else if (/^everwire(\/|$)/.test(specifier)) {
        report(line, `'${specifier}' is this package: import the file`);
      }
    }
  }
  return [...violations, ...cycles(graph)];
}

/** All imports and re-exports of a TypeScript source. */
export function importsOf(source: string): Import[] {
  // Comments become blanks of the same length, so that positions stay the same. A comment inside a string is kept
  // unless it begins a line, as an example in prose would.
  const blank = (comment: string): string => comment.replace(/[^\n]/g, ' ');
  const code = source.replace(/^[ \t]*\/\*[\s\S]*?\*\//gm, blank).replace(/(^|\s)\/\/.*$/gm, blank);
  const found: { specifier: string | undefined; index: number }[] = [];
  for (const match of code.matchAll(/^[ \t]*(?:import|export)\b(?:[^'"`;()]*?\bfrom)?\s*(['"])([^'"\n]+)\1/gm)) {
    found.push({ specifier: match[2], index: match.index + match[0].lastIndexOf(match[1]!) });
  }
  for (const match of code.matchAll(/\bimport\s*\(\s*(?:(['"`])([^'"`\n$]+)\1\s*[,)])?/g)) {
    found.push({ specifier: match[2], index: match.index });
  }
  return found
    .toSorted((a, b) => a.index - b.index)
    .map(({ specifier, index }) => ({ specifier, line: code.slice(0, index).split('\n').length }));
}

function whyNot(file: string, target: string): string | undefined {
  const [from, fromSub] = partOf(file);
  const [to, toSub] = partOf(target);
  if (target.startsWith('..')) {
    // The command line serves the example server, which is part of the package.
    return from === 'cli' && target.startsWith('../examples/') ? undefined : `${target} is not part of the sources`;
  }
  if (from === '' || target === VERSION) return undefined;
  if (from === to) {
    // Who imports one transport must not load the dependencies of another.
    const crosses = from === 'transport' && fromSub !== '' && toSub !== '' && fromSub !== toSub;
    return crosses ? `${from}/${fromSub} must not import ${to}/${toSub}` : undefined;
  }
  const allowed = ALLOWED[from];
  if (!allowed) return `src/${from} has no place in the order of imports: give it one in scripts/imports.ts`;
  if (allowed.some((entry) => target === entry || target.startsWith(`${entry}/`))) return undefined;
  return `${from} must not import ${target}: it may import ${allowed.join(', ') || 'nothing'}`;
}

/** The first and the second folder of a path. Empty if there is none. */
function partOf(file: string): [string, string] {
  const folders = file.split('/').slice(0, -1);
  return [folders[0] ?? '', folders[1] ?? ''];
}

/**
 * One violation for each import that closes a cycle (depth-first search: an edge back to a file that is still open).
 */
function cycles(graph: ReadonlyMap<string, readonly { target: string; line: number }[]>): Violation[] {
  const violations: Violation[] = [];
  const open: string[] = [];
  const done = new Set<string>();
  const visit = (file: string): void => {
    open.push(file);
    for (const { target, line } of graph.get(file) ?? []) {
      const start = open.indexOf(target);
      if (start >= 0) {
        const circle = [...open.slice(start), target].join(' → ');
        violations.push({ file: `src/${file}`, line, message: `import cycle: ${circle}` });
      } else if (!done.has(target)) visit(target);
    }
    open.pop();
    done.add(file);
  };
  for (const file of graph.keys()) if (!done.has(file)) visit(file);
  return violations;
}
