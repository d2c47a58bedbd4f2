import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const TEMPLATE = fileURLToPath(new URL('./template', import.meta.url));
/** The version of this package, which is that of everwire too. */
export const VERSION = JSON.parse(readFileSync(new URL('./package.json', import.meta.url), 'utf8')).version;
/** What the files of the template have in place of the name of the server, and of the version. */
const NAME_MARK = 'my-server';
const VERSION_MARK = 'EVERWIRE_VERSION';
/** The name if nothing of the folder's name can be used. */
const DEFAULT_NAME = 'mcp-server';

/**
 * Creates a project in a folder, with the name of the folder.
 *
 * @param {string} folder an absolute path
 * @returns {string} the name of the project
 * @throws {Error} if the folder is not empty, or cannot be written
 */
export function createProject(folder) {
  const files = templateFiles();
  const name = packageName(path.basename(folder), files);
  makeEmpty(folder);
  try {
    for (const [file, text] of files) {
      const target = path.join(folder, file);
      mkdirSync(path.dirname(target), { recursive: true });
      writeFileSync(target, text.replaceAll(NAME_MARK, name).replaceAll(VERSION_MARK, VERSION), { flag: 'wx' });
    }
  } catch (cause) {
    const { message } = /** @type {Error} */ (cause);
    throw new Error(`${message}. ${folder} is incomplete: delete it before you try again`, { cause });
  }
  return name;
}

/**
 * The files of the template, by their paths in the project. npm leaves out a `.gitignore` or renames it, and takes a
 * package.json for the one of a package. So their names begin with an underscore in the template.
 */
function templateFiles() {
  const entries = readdirSync(TEMPLATE, { recursive: true, withFileTypes: true });
  return new Map(
    entries
      .filter((entry) => entry.isFile())
      .map((entry) => {
        const source = path.join(entry.parentPath, entry.name);
        const target = path.join(path.dirname(path.relative(TEMPLATE, source)), projectName(entry.name));
        return [target, readFileSync(source, 'utf8')];
      }),
  );
}

/** @param {string} file its name in the template */
function projectName(file) {
  if (file === '_package.json') return 'package.json';
  return file.startsWith('_') ? `.${file.slice(1)}` : file;
}

/**
 * Makes a name that npm accepts, and that is not the name of a package that the project uses.
 *
 * @param {string} folder
 * @param {ReadonlyMap<string, string>} files
 */
function packageName(folder, files) {
  const name = folder
    .toLowerCase()
    .replaceAll(/[^a-z0-9._~-]+/g, '-')
    .replaceAll(/^[._-]+|-+$/g, '')
    .slice(0, 214);
  const { dependencies, devDependencies } = JSON.parse(/** @type {string} */ (files.get('package.json')));
  const used = ['node_modules', 'favicon.ico', ...Object.keys({ ...dependencies, ...devDependencies })];
  if (used.includes(name)) return `${name}-server`;
  return name === '' ? DEFAULT_NAME : name;
}

/**
 * Makes a folder, or checks that it is empty. A folder that has only a git repository counts as empty.
 *
 * @param {string} folder
 */
function makeEmpty(folder) {
  const present = listed(folder).filter((name) => name !== '.git');
  if (present.length > 0) {
    const example = present.includes('package.json') ? 'package.json' : present[0];
    throw new Error(`${folder} is not empty: it has ${example}. Name a new folder: npm create everwire my-server`);
  }
  mkdirSync(folder, { recursive: true });
}

/** @param {string} folder */
function listed(folder) {
  try {
    return readdirSync(folder);
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    if (code === 'ENOENT') return [];
    if (code === 'ENOTDIR') throw new Error(`${folder} is a file, not a folder`, { cause: error });
    throw new Error(message, { cause: error });
  }
}
