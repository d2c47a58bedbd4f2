/**
 * Generates the API reference from the docstrings: `node scripts/api/main.mjs` writes `docs/api`. With `--check` it
 * writes nothing, and fails if `docs/api` is out of date.
 */

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Application, LogLevel } from 'typedoc';
import { load } from './layout.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const committed = path.join(root, 'docs', 'api');

/**
 * Writes the reference to a folder. Fails if an export has no docstring, if a visible type is not exported, or if a
 * link is broken.
 */
async function generate(folder) {
  const faces = facesOf(JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')));
  const app = await Application.bootstrapWithPlugins({
    name: 'The API of Everwire',
    entryPoints: [...faces.keys()],
    tsconfig: path.join(root, 'tsconfig.json'),
    plugin: ['typedoc-plugin-markdown', load],
    router: 'everwire',
    theme: 'everwire',
    githubPages: false,
    readme: 'none',
    logLevel: LogLevel.Warn,
    validation: { invalidLink: true, notDocumented: true, notExported: true, rewrittenLink: true },
    requiredToBeDocumented: ['Function', 'Class', 'Interface', 'TypeAlias', 'Variable', 'Method', 'Accessor'],
    intentionallyNotExported,
    // Line numbers and revisions change with each edit.
    disableGit: true,
    disableSources: true,
    excludeExternals: true,
    excludeInternal: true,
    excludeProtected: true,
    sortEntryPoints: false,
    sort: ['kind', 'alphabetical'],
    groupOrder: [
      ...['Functions', 'Classes', 'Interfaces', 'Type Aliases', 'Variables', 'References'],
      ...['Constructors', 'Properties', 'Accessors', 'Methods'],
    ],
    hidePageHeader: true,
    hideBreadcrumbs: true,
    indexFormat: 'table',
    parametersFormat: 'none',
    interfacePropertiesFormat: 'table',
    classPropertiesFormat: 'table',
    typeAliasPropertiesFormat: 'table',
    typeDeclarationFormat: 'table',
    propertyMembersFormat: 'table',
    expandObjects: true,
    expandParameters: true,
    tableColumnSettings: { hideDefaults: true, hideInherited: true, hideModifiers: true, hideOverrides: true },
    pageTitleTemplates: { index: '{projectName}', module: '{name}', member: '{name}' },
  });
  const entries = app.getEntryPoints() ?? [];
  for (const entry of entries) entry.displayName = faces.get(path.normalize(entry.sourceFile.fileName));
  const project = app.converter.convert(entries);
  app.validate(project);
  await app.generateDocs(project, folder);
  if (app.logger.hasErrors() || app.logger.hasWarnings()) process.exitCode = 1;
}

/** Types that only help TypeScript to infer arguments and results. Their effect is described in prose. */
const intentionallyNotExported = [
  ...[
    'Arguments',
    'BareResult',
    'FlatForm',
    'NoBareContent',
    'NoShape',
    'ToolNames',
    'UncheckedAnswer',
    'PathNames',
    'Plain',
    'QueryNames',
    'Structured',
  ],
  // The types of everwire/http extend them.
  'src/transport/http/server/handler.ts:HttpHandlerOptions',
  'src/transport/http/server/listen.ts:ListenOptions',
];

/** The import name of each entry point, by its source file. */
function facesOf({ name, exports }) {
  return new Map(
    Object.entries(exports)
      .filter(([, target]) => typeof target !== 'string')
      .map(([face, target]) => [
        path.join(root, target.types.replace('./dist/', '').replace(/\.d\.ts$/, '.ts')),
        path.posix.join(name, face),
      ]),
  );
}

/** The names of the pages that differ between two folders. */
function differences(one, other) {
  const pages = new Set([one, other].flatMap((folder) => readdirSync(folder)));
  const read = (folder, page) => {
    try {
      return readFileSync(path.join(folder, page), 'utf8');
    } catch {
      return undefined;
    }
  };
  return [...pages].filter((page) => read(one, page) !== read(other, page));
}

if (process.argv.includes('--check')) {
  const fresh = mkdtempSync(path.join(tmpdir(), 'everwire-api-'));
  try {
    await generate(fresh);
    const stale = differences(committed, fresh);
    for (const page of stale) console.error(`docs/api/${page} is not what the sources say: run npm run docs:api`);
    if (stale.length > 0) process.exitCode = 1;
  } finally {
    rmSync(fresh, { recursive: true });
  }
} else {
  await generate(committed);
}
