import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connect, type Client } from '../../src/client/index.ts';
import { programs, startServer, type RunningServer } from '../support/process.ts';
import { goProgram, isHere, oldPythonProgram, pythonProgram } from './toolchains.ts';

/** A server that others have published, and something real to do with it. */
interface Published {
  readonly name: string;
  readonly toolchain: 'Python' | 'Go';
  /** The program, for a folder that is empty at first. */
  readonly command: (folder: string) => readonly string[];
  /** Fills the folder before the server starts. */
  readonly fill?: (folder: string) => void;
  readonly use: (client: Client, folder: string) => Promise<void>;
}

async function textOf(client: Client, name: string, args: Record<string, unknown>): Promise<string> {
  const { content, isError } = await client.callTool(name, args);
  const text = content.map((block) => ('text' in block ? block.text : '')).join('\n');
  expect(isError ?? false, text).toBe(false);
  return text;
}

const PAGE =
  '<html><head><title>Bridges</title></head><body><h1>Bridges</h1><p>A <b>bridge</b> joins.</p></body></html>';

const published: readonly Published[] = [
  {
    name: 'mcp-server-git',
    toolchain: 'Python',
    command: () => [pythonProgram('mcp-server-git')],
    use: async (client, folder) => {
      const git = (...args: string[]): void => void execFileSync('git', ['-C', folder, ...args]);
      git('init', '--quiet', '--initial-branch', 'main');
      git('config', 'user.name', 'Ada');
      git('config', 'user.email', 'ada@example.com');
      git('config', 'commit.gpgsign', 'false');
      writeFileSync(path.join(folder, 'notes.txt'), 'one\n');
      await textOf(client, 'git_add', { repo_path: folder, files: ['notes.txt'] });
      await textOf(client, 'git_commit', { repo_path: folder, message: 'Add the notes' });
      expect(await textOf(client, 'git_log', { repo_path: folder })).toContain('Add the notes');
      writeFileSync(path.join(folder, 'notes.txt'), 'one\ntwo\n');
      expect(await textOf(client, 'git_diff_unstaged', { repo_path: folder })).toContain('+two');
    },
  },
  {
    name: 'mcp-server-fetch',
    toolchain: 'Python',
    command: () => [pythonProgram('mcp-server-fetch'), '--allow-private-ips'],
    use: async (client) => {
      const site = createServer(({ url }, response) => {
        if (url === '/robots.txt') response.writeHead(404).end();
        else response.writeHead(200, { 'content-type': 'text/html' }).end(PAGE);
      });
      await new Promise<void>((resolve) => void site.listen(0, '127.0.0.1', resolve));
      try {
        const url = `http://127.0.0.1:${(site.address() as AddressInfo).port}/bridges`;
        expect(await textOf(client, 'fetch', { url })).toContain('A **bridge** joins.');
        const { messages } = await client.getPrompt('fetch', { url });
        expect(JSON.stringify(messages)).toContain('A **bridge** joins.');
      } finally {
        site.closeAllConnections();
        await new Promise((resolve) => void site.close(resolve));
      }
    },
  },
  {
    name: 'mcp-server-time',
    toolchain: 'Python',
    command: () => [pythonProgram('mcp-server-time')],
    use: async (client) => {
      const noon = { source_timezone: 'UTC', time: '12:00', target_timezone: 'Asia/Tokyo' };
      expect(await textOf(client, 'convert_time', noon)).toMatch(/T21:00:00\+09:00/);
      const { isError, content } = await client.callTool('convert_time', { ...noon, time: '25:00' });
      expect(isError, JSON.stringify(content)).toBe(true);
    },
  },
  {
    name: 'excel-mcp-server',
    toolchain: 'Python',
    command: (folder) => [pythonProgram('excel-mcp-server'), 'stdio', '--allow-dir', folder],
    use: async (client, folder) => {
      const file = path.join(folder, 'sums.xlsx');
      await textOf(client, 'create_workbook', { path: file, sheets: ['Sums'] });
      const rows = [
        ['a', 'b'],
        [2, 4],
      ];
      await textOf(client, 'write_range', { path: file, sheet: 'Sums', at: 'A1', rows });
      const read = await textOf(client, 'read_range', { path: file, sheet: 'Sums', range: 'A1:B2' });
      expect(read.replaceAll(/\s/g, '')).toMatch(/\["a","b"\],\[2,4\]/);
    },
  },
  {
    name: 'mcp-server-sqlite',
    toolchain: 'Python',
    command: (folder) => [oldPythonProgram('mcp-server-sqlite'), '--db-path', path.join(folder, 'notes.db')],
    use: async (client) => {
      await textOf(client, 'create_table', { query: 'CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT)' });
      await textOf(client, 'write_query', { query: "INSERT INTO notes (body) VALUES ('grüße'), ('two')" });
      expect(await textOf(client, 'read_query', { query: 'SELECT body FROM notes ORDER BY id' })).toContain('grüße');
      await textOf(client, 'append_insight', { insight: 'There are two notes' });
      const { contents } = await client.readResource('memo://insights');
      expect(JSON.stringify(contents)).toContain('There are two notes');
    },
  },
  {
    name: 'gopls',
    toolchain: 'Go',
    command: () => [goProgram('gopls'), 'mcp'],
    fill: (folder) => {
      writeFileSync(path.join(folder, 'go.mod'), 'module example.com/sums\n\ngo 1.26\n');
      writeFileSync(path.join(folder, 'sums.go'), 'package sums\n\nfunc Add(a, b int) int { return a + "b" }\n');
    },
    use: async (client, folder) => {
      expect(await textOf(client, 'go_workspace', {})).toContain('example.com/sums');
      const found = await textOf(client, 'go_diagnostics', { files: [path.join(folder, 'sums.go')] });
      expect(found).toContain('sums.go');
    },
  },
  {
    name: 'everything of mcp-go',
    toolchain: 'Go',
    command: () => [goProgram('everything')],
    use: async (client) => {
      const tools = (await client.listTools()).map(({ name }) => name);
      expect(tools).toEqual(expect.arrayContaining(['echo', 'add']));
      expect(await textOf(client, 'echo', { message: 'grüße' })).toContain('grüße');
      expect(await textOf(client, 'add', { a: 2, b: 4 })).toContain('6');
      expect((await client.listPrompts()).length).toBeGreaterThan(0);
    },
  },
];

describe.each(published)('$name', ({ toolchain, command, fill, use }) => {
  const here = isHere(toolchain);
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'everwire-published-'));
  });

  afterAll(() => rmSync(folder, { recursive: true }));

  test.skipIf(!here)('over stdio', async () => {
    const place = path.join(folder, 'direct');
    mkdirSync(place);
    fill?.(place);
    const [program = '', ...args] = command(place);
    const client = await connect({ command: program, args, cwd: place, stderr: 'ignore' });
    try {
      await use(client, place);
    } finally {
      await client.close();
    }
  });

  describe.each(['legacy', 'modern'] as const)('through a bridge over HTTP, for a client of the %s era', (eras) => {
    let bridge: RunningServer;
    let place: string;

    beforeAll(async () => {
      if (!here) return;
      place = path.join(folder, eras);
      mkdirSync(place);
      fill?.(place);
      const [program = '', ...args] = command(place);
      bridge = await startServer([...programs.everwire, 'bridge', '--port', '0', '--', program, ...args], {}, place);
    });

    afterAll(async () => {
      await bridge?.stop();
    });

    test.skipIf(!here)('is used', async () => {
      const client = await connect(bridge.url, { eras });
      try {
        await use(client, place);
      } finally {
        await client.close();
      }
    });
  });
});
