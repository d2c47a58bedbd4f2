import { writeFileSync } from 'node:fs';
import { REVISIONS } from '../src/protocol/revisions.ts';
import { schemaModule } from './lint-schemas.ts';

/** Writes the schemas that the linter ships. The argument is a folder with `<revision>/schema.json`. */
const [folder = '../shared/spec'] = process.argv.slice(2);
for (const revision of Object.keys(REVISIONS)) {
  writeFileSync(`src/lint/schemas/schema-${revision}.ts`, schemaModule(`${folder}/${revision}/schema.json`));
}
