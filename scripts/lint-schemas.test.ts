import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { REVISIONS } from '../src/protocol/revisions.ts';
import { root } from '../test/support/process.ts';
import { schemaModule } from './lint-schemas.ts';

/** The folder with the specification's schemas, beside the repository. */
const SPEC = `${root}../shared/spec`;
const isPresent = existsSync(SPEC);
if (!isPresent) console.info('Skipped: the schemas of the specification are not at ../shared/spec.');

test.runIf(isPresent).each(Object.keys(REVISIONS))(
  'the shipped schema of %s is that of the specification',
  (revision) => {
    const shipped = readFileSync(`${root}src/lint/schemas/schema-${revision}.ts`, 'utf8');
    expect(shipped).toBe(schemaModule(`${SPEC}/${revision}/schema.json`));
  },
);
