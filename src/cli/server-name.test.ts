import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { serverName, serverTitle } from './server-name.ts';

function project(packageName?: string): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'everwire-name-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(path.join(folder, 'src'));
  for (const file of ['src/main.ts', 'src/notes.ts']) writeFileSync(path.join(folder, file), '');
  const content = packageName === undefined ? '{}' : JSON.stringify({ name: packageName });
  writeFileSync(path.join(folder, 'package.json'), content);
  return folder;
}
const node = (...args: string[]) => ({ kind: 'command', command: 'node', args, env: {} }) as const;
const url = (address: string) => ({ kind: 'url', url: address, headers: {} }) as const;

test.each([
  ['@ada/library', ['src/main.ts'], 'library'],
  ['library', ['--import', 'tsx', 'src/main.ts', '--stdio'], 'library'],
  ['library', ['src/notes.ts'], 'notes'],
  ['library', ['nowhere/main.ts'], 'main'],
])('the server of the package %s that runs with %j has a name that says what it is', (name, args, expected) => {
  expect(serverName(node(...args), project(name))).toBe(expected);
});

test('a server keeps the name of its script if no package has a name', () => {
  expect(serverName(node('src/main.ts'), project())).toBe('main');
});

test('the inspector and the check show the same name for a command, and the host of a URL', () => {
  expect(serverTitle(node('src/main.ts'), project('@ada/library'))).toBe('library');
  expect(serverTitle(url('http://127.0.0.1:8000/mcp'), '/')).toBe('127.0.0.1');
});

test.each([
  ['http://127.0.0.1:8000/mcp', 'localhost-8000'],
  ['http://[::1]:8000/mcp', 'localhost-8000'],
  ['http://localhost/mcp', 'localhost'],
  ['https://mcp.example.com/mcp', 'mcp.example.com'],
])('the server at %s has a readable name', (address, expected) => {
  expect(serverName(url(address), '/')).toBe(expected);
});
