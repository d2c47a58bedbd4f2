import { checkImports } from './imports.ts';

const violations = checkImports(process.cwd());
for (const { file, line, message } of violations) console.error(`${file}:${line}: ${message}`);
console.error(violations.length === 0 ? 'Imports point one way.' : `${violations.length} imports point the wrong way.`);
process.exitCode = violations.length === 0 ? 0 : 1;
