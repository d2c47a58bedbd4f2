import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connect, type Client } from '../../src/client/index.ts';
import { REVISIONS, type Revision } from '../../src/protocol/revisions.ts';
import { client, startBridge } from '../support/bridge-program.ts';
import { features, node, runEverwire, temporaryFolder } from '../support/command-line.ts';
import { programs } from '../support/process.ts';
import { recordedHttp } from '../support/recorded-http.ts';

async function toolsOf(caller: Client): Promise<string[]> {
  return (await caller.listTools()).map(({ name }) => name).toSorted();
}

/** A file with the feature server and the demo server. */
function configuration(tools?: object): string {
  const file = path.join(temporaryFolder(), 'mcp.json');
  const mcpServers = {
    features: { command: node, args: [...programs.features, '--stdio'], tools },
    demo: { command: node, args: [...programs.everwire, 'demo', '--stdio'] },
  };
  writeFileSync(file, JSON.stringify({ mcpServers }));
  return file;
}

describe('--allow-tool and --deny-tool', () => {
  test('show only tools that are allowed and not denied, in each revision', async () => {
    const options = ['--allow-tool', 'e*', '--allow-tool', 'add', '--allow-tool', 'fail', '--deny-tool', '*a*l'];
    const server = await startBridge([...options, ...features]);
    await server.line(/serving .* tools=2$/);
    for (const revision of Object.keys(REVISIONS) as Revision[]) {
      const url = revision === '2024-11-05' ? new URL('/sse', server.url).href : server.url;
      const caller = await client(url, { revision });
      expect(await toolsOf(caller)).toEqual(['add', 'echo']);
      expect(await caller.callTool('add', { a: 1, b: 2 })).toMatchObject({ content: [{ text: '3' }] });
      for (const name of ['fail', 'count']) {
        // As for a tool that no server has.
        await expect(caller.callTool(name, {})).rejects.toMatchObject({
          code: -32602,
          message: `Unknown tool: ${name}`,
        });
      }
    }
  });

  test('apply to each server of a file, and to its own names', async () => {
    const options = ['--deny-tool', 'a*', '--allow-tool', '*'];
    const server = await startBridge([...options, '--config', configuration({ only: ['add', 'echo'] })]);
    await server.line(/serving server=features .* tools=1$/);
    await server.line(/serving server=demo .* tools=0$/);
    expect(await toolsOf(await client(server.url))).toEqual(['features__echo']);
    const single = await client(new URL('/servers/demo/mcp', server.url).href);
    expect(await toolsOf(single)).toEqual([]);
    await expect(single.callTool('add', { a: 1, b: 2 })).rejects.toThrow('Unknown tool: add');
  });

  test('are reported when the bridge starts if a pattern fits no tool', async () => {
    const server = await startBridge(['--allow-tool', 'add', '--deny-tool', 'delete_*', ...features]);
    await server.line(/^everwire: --deny-tool "delete_\*" matches no tool$/);
    expect(server.stderr.join()).not.toContain('--allow-tool');
  });

  test('are reported for a file only if a pattern fits no tool of any server', async () => {
    const file = configuration({ hide: ['gone'], describe: { echo: 'Says it again' }, rename: { ech0: 'say' } });
    const server = await startBridge(['--deny-tool', 'echo', '--deny-tool', 'none', '--config', file]);
    await server.line(/^everwire: features has no tool "gone", which its entry in the file names$/);
    await server.line(/^everwire: features has no tool "ech0"/);
    await server.line(/^everwire: --deny-tool "none" matches no tool$/);
    expect(server.stderr.join('\n')).not.toContain('echo');
  });

  test('are reported over stdio with the first list, and hide tools there', async () => {
    const errors: string[] = [];
    const args = [...programs.everwire, 'bridge', '--stdio', '--deny-tool', 'add', '--deny-tool', 'none', ...features];
    const caller = await connect({ command: node, args, onstderr: (line: string) => void errors.push(line) });
    onTestFinished(() => caller.close());
    expect(await toolsOf(caller)).not.toContain('add');
    await expect.poll(() => errors).toContain('everwire: --deny-tool "none" matches no tool');
  });
});

describe('--transport', () => {
  test('makes a client command and the bridge use only this transport', async () => {
    const { asked, sseUrl } = await recordedHttp();
    expect(await runEverwire(['call', sseUrl, 'there', '--transport', 'sse'])).toMatchObject({ code: 0 });
    const server = await startBridge(['--transport', 'sse', sseUrl]);
    const caller = await client(server.url);
    expect((await caller.callTool('there')).content).toEqual([{ type: 'text', text: 'it is there' }]);
    expect(asked).not.toContain('POST /sse');
    const { code, stderr } = await runEverwire(['ping', sseUrl, '--transport', 'streamable-http']);
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringMatching(/handshake.*not allowed/i) as string });
  });

  test.each([
    ['a command', ['ping', '--transport', 'sse', '--', 'node'], /--transport is for servers with a URL/],
    ['a file', ['bridge', '--transport', 'sse', '--config', 'mcp.json'], /--transport cannot be used with --config/],
  ])('is refused for %s', async (_, args, message) => {
    const { code, stderr } = await runEverwire(args);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(message) as string });
  });
});
