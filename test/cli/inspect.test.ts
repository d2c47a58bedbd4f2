import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { readRecording } from '../../src/inspect/read-recording.ts';
import { demo, node, runEverwire, temporaryFolder } from '../support/command-line.ts';
import { canCertify, certificate } from '../support/certificate.ts';
import { startLoginServer } from './login-server.ts';
import { PageClient, startInspector } from '../support/inspector.ts';

const inspect = ['inspect', '--port', '0', '--no-open'];

describe('everwire inspect', () => {
  test('connects to a command at once, and calls a tool', async () => {
    const { page, child } = await startInspector([...inspect, ...demo]);
    const { role, target, choices, connection } = await page.settled();
    expect({ role, target, choices }).toMatchObject({
      role: 'client',
      // The package of the script `dist/lib/cli.js`.
      target: 'everwire',
      choices: [{ id: 'command line: everwire', name: 'everwire', source: 'command line' }],
    });
    expect(connection).toMatchObject({
      status: 'connected',
      revision: '2026-07-28',
      transport: 'stdio',
      discovered: { serverInfo: { name: 'Demo' }, capabilities: { tools: {} } },
      attempts: [{ what: 'server/discover, 2026-07-28', outcome: 'done', record: expect.any(Number) as number }],
    });
    expect(await page.request('tools/call', { name: 'add', arguments: { a: 1, b: 2 } })).toMatchObject({
      result: { content: [{ type: 'text', text: '3' }] },
    });
    child.child.kill('SIGINT');
    expect(await child.exited).toEqual({ code: 0, signal: null });
  });

  test('offers the servers of mcp.json and of hosts, without their secrets, and leaves out what is broken', async () => {
    const home = temporaryFolder();
    const config = path.join(home, 'servers.json');
    const servers = {
      demo: { command: node, args: [...demo.slice(2), '--api-key', 'hidden-one', '--token=hidden-two'] },
      far: { url: 'https://example.com/mcp?key=hidden', headers: { authorization: 'Bearer hidden' } },
      broken: { command: 'x', env: { A: '${env:NOT_SET_ANYWHERE}' } },
    };
    writeFileSync(config, `{ // with a comment\n"mcpServers": ${JSON.stringify(servers)} }`);
    const { child, page } = await startInspector([...inspect, '--config', config]);
    const { choices, connection, target } = await page.until(() => true);
    expect(connection.status).toBe('idle');
    expect(target).toBeUndefined();
    expect(choices).toEqual([
      {
        id: `${config}: demo`,
        name: 'demo',
        source: config,
        detail: [node, ...demo.slice(2), '--api-key', '***', '--token=***'].join(' '),
      },
      { id: `${config}: far`, name: 'far', source: config, detail: 'https://example.com/mcp' },
    ]);
    expect(child.stderr.join('\n')).toMatch(/ignored .*NOT_SET_ANYWHERE/);
  });

  test('looks into the files of hosts, and skips those that are not JSON', async () => {
    const home = temporaryFolder();
    mkdirSync(path.join(home, '.cursor'));
    writeFileSync(path.join(home, '.cursor/mcp.json'), JSON.stringify({ mcpServers: { mine: { command: 'x' } } }));
    writeFileSync(path.join(home, '.claude.json'), '{');
    const { child, page } = await startInspector(inspect, { HOME: home, USERPROFILE: home });
    const { choices } = await page.until(() => true);
    expect(choices).toContainEqual({ id: 'Cursor: mine', name: 'mine', source: 'Cursor', detail: 'x' });
    expect(child.stderr.join('\n')).toMatch(/ignored .*\.claude\.json/);
  });

  test('shows a recording, which takes no commands, from any record on', async () => {
    const file = path.join(temporaryFolder(), 'wire.mcpcap');
    expect(await runEverwire(['ping', '--record', file, ...demo])).toMatchObject({ code: 0 });
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
    const { page } = await startInspector([...inspect, file]);
    expect(await page.until(() => true)).toMatchObject({ role: 'recording', target: 'wire.mcpcap', choices: [] });
    const recording = await page.records();
    expect(recording.header).toEqual(JSON.parse(lines[0]!));
    const shown: number[] = [];
    for await (const { n } of recording) shown.push(n);
    const recorded: number[] = [];
    for await (const { n } of await readRecording(file)) recorded.push(n);
    expect(shown).toEqual(recorded);
    const rest: number[] = [];
    for await (const { n } of await page.records(3)) rest.push(n);
    expect(rest).toEqual(shown.filter((n) => n > 3));
    await expect(page.command('disconnect', {})).rejects.toThrow('409: This inspector only shows traffic.');
  });

  test('says what is wrong with a recording: at once, or at the record where it is', async () => {
    const file = path.join(temporaryFolder(), 'wire.mcpcap');
    writeFileSync(file, 'x\n');
    const refused = await runEverwire([...inspect, file]);
    expect([refused.code, refused.stderr]).toEqual([2, `everwire: ${file}, line 1: this is not JSON`]);
    const open = { n: 1, t: 0, layer: 'open', conn: 1, protocol: 'stdio', role: 'client' };
    const header = { mcpcap: 1, started: new Date().toISOString(), masked: [] };
    writeFileSync(file, `${JSON.stringify(header)}\n${JSON.stringify(open)}\nx\n`);
    const { page } = await startInspector([...inspect, file]);
    const shown = [];
    for await (const record of await page.records()) shown.push(record);
    expect(shown).toEqual([open]);
    const { connection } = await page.until((state) => state.connection.problem);
    expect(connection.problem).toEqual({ message: `${file}, line 3: this is not JSON` });
  });

  test('saves calls in a file, with the secrets of the configuration left out', async () => {
    const folder = temporaryFolder();
    const [config, saved] = [path.join(folder, 'mcp.json'), path.join(folder, 'calls', 'saved.json')];
    const env = { API_KEY: 'hidden-key' };
    writeFileSync(config, JSON.stringify({ mcpServers: { mine: { command: node, args: demo.slice(2), env } } }));
    const { page } = await startInspector([...inspect, '--config', config, '--saved', saved, 'mine']);
    expect((await page.settled()).saved).toEqual({ file: saved, changes: 0 });
    const call = { name: 'Add', method: 'tools/call', params: '{"name":"add","arguments":{"a":1}}' } as const;
    await page.command('save', call);
    expect(await page.command('listSaved', {})).toEqual([{ ...call, params: JSON.parse(call.params) as object }]);
    const hidden = page.command('save', { ...call, params: '{"name":"hidden-key"}', replace: true });
    await expect(hidden).rejects.toThrow('409: The call contains a secret, so it is not saved.');
    expect(JSON.parse(readFileSync(saved, 'utf8'))).toMatchObject({ version: 1, servers: { mine: [{ name: 'Add' }] } });
  });

  test('names the option for another port if the port is in use', async () => {
    const { address } = await startInspector(inspect);
    const { port } = new URL(address);
    expect(await runEverwire(['inspect', '--no-open', '--port', port])).toMatchObject({
      code: 2,
      stderr: `everwire: port ${port} on 127.0.0.1 is already in use; choose another port with --port`,
    });
  });

  test('an address can be used once', async () => {
    const { address } = await startInspector(inspect);
    await expect(PageClient.open(address)).rejects.toThrow('This URL was already used');
  });

  test('refuses what it cannot do before anything is started', async () => {
    for (const [words, problem] of [
      [['a', 'b'], /there is no server "a"/],
      [['http://localhost/', 'b'], /inspect takes only a target, and not "b"/],
      [['x.mcpcap', 'y'], /inspect takes only a target, and not "y"/],
      [['x.mcpcap'], /x\.mcpcap/],
      [['x.mcpcap', '--saved', 'y'], /--saved cannot be used with a recording/],
      [['--through', '--saved', 'y', '--', 'node'], /--saved cannot be used with --through/],
      [['--'], /after -- there must be a command/],
    ] as const)
      expect(await runEverwire([...inspect, ...words])).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(problem) as string,
      });
  });

  test.runIf(canCertify)('tells that a certificate has expired', async () => {
    const { cert, key } = certificate('Old', true);
    const file = path.join(temporaryFolder(), 'cert.pem');
    writeFileSync(file, cert);
    const server = createServer({ cert, key }).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const url = `https://localhost:${(server.address() as AddressInfo).port}/mcp`;
    const { page } = await startInspector([...inspect, url], { NODE_EXTRA_CA_CERTS: file });
    const { connection } = await page.settled();
    expect(connection.problem).toMatchObject({
      step: 'tls',
      message: expect.stringMatching(
        /CERT_HAS_EXPIRED.* The certificate of Old .* until Feb +1 00:00:00 2020 GMT/,
      ) as string,
    });
  });

  test('shows the address of a login, and connects when the person is back', async () => {
    const server = await startLoginServer();
    onTestFinished(() => server.close());
    const { page } = await startInspector([...inspect, server.url], { XDG_DATA_HOME: temporaryFolder() });
    const { connection } = await page.until((state) => state.connection.login);
    expect(connection).toMatchObject({
      status: 'connecting',
      attempts: [{ outcome: 'failed', detail: '401 Unauthorized' }],
    });
    const { url } = connection.login!;
    expect(url).toMatch(/\/authorize\?.*redirect_uri=http%3A%2F%2F127\.0\.0\.1/);
    await (await fetch(url)).text();
    const settled = await page.settled();
    expect(settled.connection.status).toBe('connected');
    expect(settled.connection.login).toBeUndefined();
    expect(server.issued()).toBe(1);
  });

  test('without logins, says where the login would be', async () => {
    const server = await startLoginServer();
    onTestFinished(() => server.close());
    const { page } = await startInspector([...inspect, '--no-login', server.url], { XDG_DATA_HOME: temporaryFolder() });
    const { connection } = await page.settled();
    expect(connection.problem).toMatchObject({
      step: 'login',
      advice: expect.stringContaining('/.well-known/oauth-protected-resource/mcp') as string,
    });
  });

  test('returns a large result whole, and not in the state', async () => {
    const { page } = await startInspector([...inspect, '--', node, '-e', LARGE]);
    await page.settled();
    const { result } = await page.request('tools/call', { name: 'large' });
    expect((result as { content: { text: string }[] }).content[0]!.text).toHaveLength(50_000_000);
    expect(JSON.stringify(await page.until(() => true)).length).toBeLessThan(10_000);
  });

  test('leaves no process behind', async () => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      const { child, page } = await startInspector([...inspect, '--', node, '-e', MARKED]);
      const { connection } = await page.until((state) => state.connection.stderr.length > 0);
      const pid = Number(connection.stderr[0]);
      process.kill(pid, 0);
      child.child.kill(signal);
      await child.exited;
      expect(() => process.kill(pid, 0)).toThrow('ESRCH');
    }
  });
});

/** A server of 2025-11-25 whose tool has a result of 50 MB. */
const LARGE = `require('readline').createInterface(process.stdin).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  const answer = (body) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...body }) + '\\n');
  if (method === 'initialize')
    answer({ result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } } });
  else if (method === 'tools/call') answer({ result: { content: [{ type: 'text', text: 'x'.repeat(50_000_000) }] } });
  else if (id !== undefined) answer({ error: { code: -32601, message: 'no' } });
})`;

/** Prints its process id, and never ends by itself. */
const MARKED = 'console.error(process.pid); setInterval(() => {}, 1000)';

describe('--print', () => {
  async function recordedCall(): Promise<string> {
    const file = path.join(temporaryFolder(), 'call.mcpcap');
    const call = ['call', 'add', 'a=1', 'b=2', '--revision', '2025-11-25', '--record', file];
    expect(await runEverwire([...call, ...demo])).toMatchObject({ code: 0 });
    return file;
  }
  const print = (file: string, ...more: string[]) => runEverwire(['inspect', file, '--print', ...more]);
  /** A recording with a message of a server. */
  function recordedMessage(message: string, more = ''): string {
    const file = path.join(temporaryFolder(), 'message.mcpcap');
    const data = `${message}\n`;
    const lines = [
      { mcpcap: 1, started: '2026-01-01T00:00:00.000Z', masked: [] },
      { n: 1, t: 0, layer: 'open', conn: 1, protocol: 'stdio', role: 'client', peer: 'x' },
      { n: 2, t: 12_345, layer: 'bytes', conn: 1, dir: 's>c', range: [0, data.length], data },
    ];
    writeFileSync(file, `${lines.map((line) => JSON.stringify(line)).join('\n')}\n${more}`);
    return file;
  }

  test('shows each message on a line, with the method and the tool of its call', async () => {
    const { code, stdout, stderr } = await print(await recordedCall());
    expect([code, stderr]).toEqual([0, '']);
    const lines = stdout.split('\n').map((line) => line.replace(/ +\d+ bytes/, ' N bytes').slice(8));
    expect(lines.slice(0, 3)).toEqual([
      '   1 c>s  request N bytes  initialize #1',
      '   1 s>c  result N bytes  initialize #1',
      '   1 c>s  notification N bytes  notifications/initialized',
    ]);
    expect(lines.slice(-2)).toEqual([
      expect.stringMatching(/^ {3}1 c>s {2}request N bytes {2}tools\/call add #\d+$/),
      expect.stringMatching(/^ {3}1 s>c {2}result N bytes {2}tools\/call add #\d+$/),
    ]);
    expect(stdout).toMatch(/^ +\d+\.\d{3} {3}1 c>s/);
  });

  test('shows only the messages of a filter', async () => {
    const file = await recordedCall();
    const { stdout } = await print(file, '--filter', 'tool:add kind:result');
    expect(stdout).toMatch(/^.*s>c {2}result.*tools\/call add #\d+$/);
    expect((await print(file, '--filter', 'body:$.params.arguments.a=1')).stdout).toMatch(/^.*request.*add #\d+$/);
    expect((await print(file, '--filter', 'tool:subtract')).stdout).toBe('');
  });

  test('escapes what a peer wrote, and says what is missing', async () => {
    const message = '{"jsonrpc":"2.0","id":"\\u001b[2J","method":"a\\u202eb"}';
    const { code, stdout, stderr } = await print(recordedMessage(message, '{"n":3'));
    expect(code).toBe(0);
    expect(stdout).toBe(`   0.012   1 s>c  request        ${message.length} bytes  a\\u202eb #\\u001b[2J`);
    expect(stderr).toBe('everwire: the recording ends with an incomplete line');
  });

  test.each([
    [['x.mcpcap', '--print'], /cannot read x\.mcpcap: there is no such file/],
    [['--print', ...demo], /--print needs a recording \(\.mcpcap\)/],
    [['x.mcpcap', 'y', '--print'], /inspect takes only a target, and not "y"/],
    [['x.mcpcap', '--print', '--port', '1'], /--port cannot be used with --print/],
    [['x.mcpcap', '--filter', 'kind:error'], /--filter needs --print/],
    [['x.mcpcap', '--print', '--filter', 'kid:error'], /--filter: There is no key "kid" \(did you mean "kind"\?\)/],
    [['x.mcpcap', '--print', '--filter', 'a or lint:error'], /"lint" is only for the page/],
  ])('refuses %j', async (words, message) => {
    const { code, stderr } = await runEverwire(['inspect', ...words]);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
  });
});
