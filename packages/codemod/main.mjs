#!/usr/bin/env node
import { readdirSync, readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { transform } from './transform.mjs';

const USAGE = `Usage: everwire-codemod [--dry-run] <file or folder>...

Rewrites MCP servers from the official SDK 1.x to Everwire, in place. What it cannot rewrite safely, it leaves as it is and marks
with "TODO(everwire)". Commit your files first, and run your formatter afterwards.

  --dry-run  only show what would be rewritten
  --help     show this`;

const SOURCE = /(?<!\.d)\.[cm]?[jt]sx?$/;

function* filesIn(name) {
  if (!statSync(name).isDirectory()) return yield name;
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
  for (const file of positionals.flatMap((name) => [...filesIn(name)])) {
    const source = readFileSync(file, 'utf8');
    if (!source.includes('@modelcontextprotocol/sdk')) continue;
    try {
      const { code, changes, todos } = transform(source, file);
      if (code !== source && !values['dry-run']) replaceFile(file, code);
      if (code === source) console.log(`${file}: uses the SDK, but not McpServer; left as it is`);
      else console.log(`${file}: ${changes} rewritten, ${todos.length} left`);
      for (const { line, text } of todos) console.log(`  line ${line}: ${text}`);
    } catch (error) {
      failed += 1;
      console.error(`${file}: ${error.message}`);
    }
  }
  return failed > 0 ? 1 : 0;
}

try {
  const options = { 'dry-run': { type: 'boolean' }, help: { type: 'boolean' } };
  process.exitCode = run(parseArgs({ options, allowPositionals: true }));
} catch (error) {
  console.error(`everwire-codemod: ${error.message}`);
  process.exitCode = 2;
}
