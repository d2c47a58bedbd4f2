import { readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { build, type Rolldown } from 'vite';
import { writeChanged } from './write-changed.ts';

/** Builds the page of the inspector into `dist/page`. A build that changes nothing writes nothing. */

const FOLDER = 'dist/page';

// A test that packs the package runs this with another value, and would get another, larger page.
process.env['NODE_ENV'] = 'production';

const { output } = (await build({
  configFile: 'page/vite.config.ts',
  build: { write: false },
})) as Rolldown.RolldownOutput;
const kept = new Set(output.map(({ fileName }) => path.normalize(fileName)));
for (const file of output)
  writeChanged(path.join(FOLDER, file.fileName), file.type === 'chunk' ? file.code : file.source);
for (const entry of readdirSync(FOLDER, { recursive: true, withFileTypes: true })) {
  const file = path.join(entry.parentPath, entry.name);
  if (entry.isFile() && !kept.has(path.relative(FOLDER, file))) rmSync(file);
}
