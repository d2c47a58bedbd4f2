#!/usr/bin/env node
import { readdirSync, readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { oneLine } from './one-line.mjs';
import { transform } from './transform.mjs';

const USAGE = `Usage: everwire-codemod [--dry-run] <file or folder>...

Rewrites MCP servers from the official SDK 1.x to Everwire, in place. What it cannot rewrite safely, it leaves as it is and marks
with "TODO(everwire)". Commit your files first, and run your formatter afterwards.

  --dry-run  only show what would be rewritten
  --help     show this`;

const SOURCE = /(?<!\.d)\.[cm]?[jt]sx?$/;

function* filesIn(name) {
  const found = statSync(name, { throwIfNoEntry: false });
  if (!found) throw new Error(`there is no file or folder ${name}`);
  if (!found.isDirectory()) return yield name;
  for (const entry of readdirSync(name, { withFileTypes: true })) {
    if (entry.name === 'node_modules' || entry.name.startsWith('.')) continue;
    const file = path.join(name, entry.name);
    if (entry.isDirectory()) yield* filesIn(file);
    else if (entry.isFile() && SOURCE.test(entry.name)) yield file;
  }
  return undefined;
}

/** Replaces a file in one step: if the disk is full, its author keeps the source. */
function replaceFile(name, text) {
  const file = realpathSync(name);
  const temporary = `${file}.everwire-codemod`;
  try {
    writeFileSync(temporary, text, { mode: statSync(file).mode, flag: 'wx' });
    renameSync(temporary, file);
  } catch (error) {
    if (error.code !== 'EEXIST') rmSync(temporary, { force: true });
    throw error;
  }
}

function run({ values, positionals }) {
  if (values.help || positionals.length === 0) {
    console.log(USAGE);
    return values.help ? 0 : 2;
  }
  let failed = 0;
  let moved = 0;
  let left = 0;
  const files = positionals.flatMap((name) => [...filesIn(name)]);
  warnOfZod(files[0] ?? 'x');
  for (const file of files) {
    const source = readFileSync(file, 'utf8');
    // A name of a file may have any character.
    const shown = oneLine(file);
    const marked = source.split('TODO(everwire)').length - 1;
    if (!source.includes('@modelcontextprotocol/sdk')) {
      if (marked > 0) console.log(`${shown}: already moved, ${marked} TODO(everwire) left`);
      left += marked;
      continue;
    }
    try {
      const { code, changes, todos, note } = transform(source, file);
      if (code !== source && !values['dry-run']) replaceFile(file, code);
      if (note) console.log(`${shown}: ${note}`);
      else if (code === source && todos.length === 0)
        console.log(`${shown}: uses the SDK, but not McpServer; left as it is`);
      else console.log(`${shown}: ${changes} rewritten, ${todos.length} left`);
      for (const { line, text } of todos) console.log(`  line ${line}: ${text}`);
      if (changes > 0) moved += 1;
      left += note ? marked : todos.length;
    } catch (error) {
      failed += 1;
      console.error(`${shown}: ${oneLine(error.message)}`);
    }
  }
  if (left > 0) console.log(`${left} TODO(everwire) left: search for them, then run npx tsc`);
  else if (moved > 0) console.log('nothing is marked; run npx tsc to find the rest');
  return failed > 0 ? 1 : 0;
}

/** Says if the project has a Zod that Everwire cannot use. */
function warnOfZod(file) {
  let version;
  try {
    const require = createRequire(path.resolve(file));
    ({ version } = JSON.parse(readFileSync(require.resolve('zod/package.json'), 'utf8')));
  } catch {
    return;
  }
  const [major, minor] = version.split('.').map(Number);
  if (major < 4 || (major === 4 && minor < 2))
    console.log(`zod ${oneLine(version)} is installed, but Everwire needs Zod 4.2 or newer: run npm install zod@4`);
}

try {
  const options = { 'dry-run': { type: 'boolean' }, help: { type: 'boolean' } };
  process.exitCode = run(parseArgs({ options, allowPositionals: true }));
} catch (error) {
  console.error(`everwire-codemod: ${oneLine(error.message)}`);
  process.exitCode = 2;
}
