#!/usr/bin/env node
import path from 'node:path';
import { parseArgs } from 'node:util';
import { createProject, VERSION } from './create-project.mjs';

const USAGE = `Usage: npm create everwire [folder]

Creates an MCP server in TypeScript in the folder. The folder must be empty. Default: the current folder.

  -h, --help     prints this text
  -v, --version  prints the version`;

const options = {
  help: { type: /** @type {const} */ ('boolean'), short: 'h' },
  version: { type: /** @type {const} */ ('boolean'), short: 'v' },
};

/** @param {string} message */
function fail(message) {
  console.error(`create-everwire: ${printable(message)}`);
  return 1;
}

/**
 * Shows characters that could control a terminal as escapes such as `\u001b`. Names of files may have any character.
 *
 * @param {string} text
 */
function printable(text) {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => {
    if (character === '\n') return character;
    return Array.from({ length: character.length }, (_, at) => {
      return `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`;
    }).join('');
  });
}

/** The steps after this one, as commands. @param {string} folder relative to the current folder */
function nextSteps(folder) {
  const quoted = /^[\w./\\-]+$/.test(folder) ? folder : JSON.stringify(folder);
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  // Node runs TypeScript from 22.18 on. Before that, `everwire dev` needs tsx.
  const loader = major < 22 || (major === 22 && minor < 18) ? ['npm install --save-dev tsx'] : [];
  return [...(folder === '' ? [] : [`cd ${quoted}`]), 'npm install', ...loader, 'npm test', 'npm run dev'];
}

/** @param {string[]} args @returns {number} the exit code */
function run(args) {
  let parsed;
  try {
    parsed = parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    return fail(`${/** @type {Error} */ (error).message}\n\n${USAGE}`);
  }
  const { values, positionals } = parsed;
  if (values.help) {
    console.log(USAGE);
    return 0;
  }
  if (values.version) {
    console.log(VERSION);
    return 0;
  }
  if (positionals.length > 1) return fail(`give one folder, not ${positionals.length}\n\n${USAGE}`);
  const folder = path.resolve(positionals[0] ?? '.');
  try {
    const name = createProject(folder);
    const steps = nextSteps(path.relative('.', folder));
    console.log(`Created the server ${name}. Next:\n\n${steps.map((step) => `  ${printable(step)}`).join('\n')}\n`);
    console.log('Then change src/server.ts. README.md says how to connect a client.');
    return 0;
  } catch (error) {
    return fail(/** @type {Error} */ (error).message);
  }
}

process.exitCode = run(process.argv.slice(2));
