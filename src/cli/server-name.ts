import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { isObject } from '../jsonrpc/message.ts';
import { nameOf, type Target } from './target.ts';

/** Names of scripts that say nothing about a server. */
const GENERIC = new Set(['app', 'cli', 'index', 'main', 'server', 'start', 'stdio']);
const SCRIPT = /\.[cm]?[jt]sx?$/;
const LOOPBACK = /^(?:127(?:\.\d+){3}|::1|localhost)$/;

/** A name for a server in the configuration of a host: its title, but `localhost-8000` for an address of this machine. */
export function serverName(target: Target, cwd: string): string {
  const title = serverTitle(target, cwd);
  if (target.kind !== 'url' || !LOOPBACK.test(title)) return title;
  const { port } = new URL(target.url);
  return port === '' ? 'localhost' : `localhost-${port}`;
}

/** A name that its user recognises: as `nameOf`, but the name of its package for a script such as `index.js`. */
export function serverTitle(target: Target, cwd: string): string {
  const name = nameOf(target);
  if (target.kind === 'url' || target.name !== undefined) return name;
  const script = target.args.find((word) => SCRIPT.test(word) && existsSync(path.resolve(cwd, word)));
  if (script === undefined) return name;
  const own = path.parse(script).name;
  return (GENERIC.has(own) ? packageNameAbove(path.resolve(cwd, script)) : undefined) ?? own;
}

/** The name in the nearest package.json, without its scope. */
function packageNameAbove(file: string): string | undefined {
  for (let folder = path.dirname(file); ; folder = path.dirname(folder)) {
    const name = nameIn(path.join(folder, 'package.json'));
    if (name !== undefined) return name.replace(/^@[^/]*\//, '');
    if (folder === path.dirname(folder)) return undefined;
  }
}

function nameIn(file: string): string | undefined {
  try {
    const content: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return isObject(content) && typeof content['name'] === 'string' && content['name'] !== ''
      ? content['name']
      : undefined;
  } catch {
    return undefined;
  }
}
