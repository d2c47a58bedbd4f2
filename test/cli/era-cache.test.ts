import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { json, scripted, type ScriptedServer } from '../support/http-server.ts';
import { programs, startNode } from '../support/process.ts';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'everwire-remembers-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

async function run(...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = startNode([...programs.everwire, ...args], { XDG_DATA_HOME: directory, LOCALAPPDATA: directory });
  child.child.stdin!.end();
  const { code } = await child.exited;
  return { code, stdout: child.stdout.join('\n'), stderr: child.stderr.join('\n') };
}

/** A server that speaks only 2025-11-25. */
const handshakeServer = (): Promise<ScriptedServer> =>
  scripted(({ method, body }, response) => {
    if (method !== 'POST') response.writeHead(405).end();
    else if (body.id === undefined) response.writeHead(202).end();
    else if (body.method === 'initialize') {
      const result = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 's', version: '1' } };
      json(response, { jsonrpc: '2.0', id: body.id, result });
    } else if (body.method === 'ping') json(response, { jsonrpc: '2.0', id: body.id, result: {} });
    else json(response, { jsonrpc: '2.0', id: body.id, error: { code: -32601, message: 'Method not found' } }, 400);
  });

describe('the era of a server', () => {
  test('is detected by the first run, and remembered for the next one', async () => {
    const server = await handshakeServer();
    const methods = (): unknown[] => server.asked.splice(0).flatMap(({ body }) => body?.method ?? []);
    expect(await run('ping', server.url.href)).toMatchObject({ code: 0, stderr: '' });
    expect(methods().slice(0, 2)).toEqual(['server/discover', 'initialize']);
    expect(await run('ping', server.url.href)).toMatchObject({ code: 0, stderr: '' });
    expect(methods()[0]).toBe('initialize');
    const folder = path.join(directory, 'everwire', 'eras');
    for (const name of readdirSync(folder)) writeFileSync(path.join(folder, name), '{"');
    expect(await run('ping', server.url.href)).toMatchObject({ code: 0, stderr: '' });
    expect(methods()[0]).toBe('server/discover');
  });
});

describe('--root', () => {
  const features = ['--', process.execPath, ...programs.features, '--stdio'];

  test.each(['2025-11-25', '2026-07-28'])('roots are sent to a server of %s', async (revision) => {
    const roots = ['--root', directory, '--root', '.'];
    const { code, stdout, stderr } = await run('call', 'roots', '--revision', revision, ...roots, ...features);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [first, second] = JSON.parse(stdout) as { uri: string; name: string }[];
    expect(first).toEqual({ uri: pathToFileURL(directory).href, name: path.basename(directory) });
    expect(second!.uri).toMatch(/^file:\/\/\//);
  });

  test('a root that is not a directory causes an error before anything is started', async () => {
    const { code, stderr } = await run('call', 'roots', '--root', '/nowhere', ...features);
    expect({ code, stderr }).toEqual({ code: 2, stderr: 'everwire: --root "/nowhere" is not a directory' });
  });
});
