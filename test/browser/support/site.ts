import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { root } from '../../support/process.ts';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
};

/** The documentation site, built and served under a path, as any web server for files would. */
export interface Site {
  /** Where the site begins, with a slash at the end. */
  readonly url: string;
  /** The HTML of all pages, by their path from the beginning of the site. */
  readonly pages: ReadonlyMap<string, string>;
  close(): Promise<void>;
}

/**
 * Builds a folder of markdown with VitePress.
 *
 * @throws Error with the output if the build fails
 */
export async function buildSite(source: string, out: string, base = '/'): Promise<void> {
  const vitepress = `${root}node_modules/vitepress/bin/vitepress.js`;
  const words = [vitepress, 'build', source, '--outDir', out, '--base', base];
  await promisify(execFile)(process.execPath, words, { cwd: root, env: { ...process.env, NO_COLOR: '1' } });
}

/** Builds and serves the site. */
export async function serveSite(base: string): Promise<Site> {
  const folder = mkdtempSync(path.join(tmpdir(), 'everwire-site-'));
  await buildSite('docs', folder, base);
  const pages = new Map(
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .map((name) => name.replaceAll('\\', '/'))
      .filter((name) => name.endsWith('.html'))
      .map((name) => [name, readFileSync(path.join(folder, name), 'utf8')]),
  );
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url!, 'http://localhost');
    const name = pathname.slice(base.length).replace(/(^|\/)$/, '$1index.html');
    readFile(path.join(folder, name)).then(
      (bytes) => response.setHeader('Content-Type', TYPES[path.extname(name)] ?? 'text/plain').end(bytes),
      () => response.writeHead(404).end('Not found'),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${base}`,
    pages,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(folder, { recursive: true });
    },
  };
}
