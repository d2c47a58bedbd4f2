import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { readRecording } from '../../src/inspect/read-recording.ts';
import type { WireRecord } from '../../src/inspect/record.ts';
import { bytesOf, partsOf } from '../support/captured.ts';
import { demo, node, runEverwire, startEverwire, temporaryFolder } from '../support/command-line.ts';
import { programs } from '../support/process.ts';

async function read(file: string): Promise<WireRecord[]> {
  const records: WireRecord[] = [];
  for await (const record of await readRecording(file)) records.push(record);
  return records;
}

const newFile = (): string => path.join(temporaryFolder(), 'wire.mcpcap');
const stdioDemo = [node, ...programs.everwire, 'demo', '--stdio'];
const INITIALIZE =
  '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw ä","version":"1"}}}';
const PING = '{"jsonrpc":"2.0","id":2,"method":"ping"}';

/** The methods of the requests on a connection. */
const requests = (records: readonly WireRecord[], conn: number): (string | undefined)[] =>
  partsOf(records, 'c>s', conn).flatMap(({ kind, method }) => (kind === 'request' ? [method] : []));

describe('--record', () => {
  test('of both ends of stdio gives the same bytes', async () => {
    const [ours, theirs] = [newFile(), newFile()];
    const { code, stdout } = await runEverwire([
      ...['call', 'add', 'a=1', 'b=2', '--record', ours],
      ...[...demo, '--record', theirs],
    ]);
    expect([code, stdout]).toEqual([0, '3']);
    const [client, server] = [await read(ours), await read(theirs)];
    expect(client[0]).toMatchObject({ layer: 'open', role: 'client', peer: path.parse(programs.everwire[0]).name });
    expect(server[0]).toMatchObject({ layer: 'open', role: 'server' });
    for (const dir of ['c>s', 's>c'] as const) expect(bytesOf(client, dir)).toEqual(bytesOf(server, dir));
    expect(requests(client, 1)).toContain('tools/call');
    expect([client.at(-1)!.layer, server.at(-1)!.layer]).toEqual(['close', 'close']);
  });

  test('of both ends of HTTP gives the same bytes, without the credentials', async () => {
    const [ours, theirs] = [newFile(), newFile()];
    const server = startEverwire(['demo', '--port', '0', '--record', theirs]);
    const [, url] = await server.line(/listening on (\S+)/);
    const call = ['call', url!, 'add', 'a=1', 'b=2', '--header', 'Authorization: Bearer hidden', '--record', ours];
    expect(await runEverwire(call)).toMatchObject({ code: 0, stdout: '3' });
    await server.stop();
    const [client, served] = [await read(ours), await read(theirs)];
    for (const dir of ['c>s', 's>c'] as const) expect(bytesOf(client, dir)).toEqual(bytesOf(served, dir));
    expect(partsOf(client, 'c>s')[0]!.text).toMatch(/^POST \/mcp HTTP\/1\.1\r\n[^]*authorization: \*{13}\r\n/i);
    expect(requests(client, 1)).toContain('tools/call');
    for (const file of [ours, theirs]) expect(readFileSync(file, 'utf8')).not.toContain('hidden');
  });

  test('of a bridge over stdio has both sides, and exactly what its client wrote and read', async () => {
    const file = newFile();
    const child = startEverwire(['bridge', '--stdio', '--record', file, '--', ...stdioDemo]);
    const received: Buffer[] = [];
    child.child.stdout!.on('data', (chunk: Buffer) => received.push(chunk));
    const sent = `${INITIALIZE}\r\nstray\n${PING}`;
    child.child.stdin!.end(sent);
    expect((await child.exited).code).toBe(0);
    const records = await read(file);
    const side = (role: string): number =>
      records.flatMap((record) => (record.layer === 'open' && record.role === role ? [record.conn] : []))[0]!;
    expect(bytesOf(records, 'c>s', side('server')).toString()).toBe(sent);
    expect(bytesOf(records, 's>c', side('server'))).toEqual(Buffer.concat(received));
    expect(requests(records, side('server'))).toEqual(['initialize', 'ping']);
    expect(requests(records, side('client'))).toContain('initialize');
    expect(records.filter(({ layer }) => layer === 'close')).toHaveLength(2);
  });

  test('of a bridge over HTTP has both sides, also if a signal ends it', async () => {
    const file = newFile();
    const child = startEverwire(['bridge', '--port', '0', '--record', file, '--', ...stdioDemo]);
    const [, url] = await child.line(/listening on (\S+)/);
    expect(await runEverwire(['ping', url!])).toMatchObject({ code: 0 });
    await child.stop();
    const records = await read(file);
    const opened = records.filter((record) => record.layer === 'open');
    expect(new Set(opened.map(({ protocol, role }) => `${protocol} ${role}`))).toEqual(
      new Set(['stdio client', 'http server']),
    );
    expect(records.filter(({ layer }) => layer === 'close')).toHaveLength(opened.length);
    expect((await readRecording(file)).header).toMatchObject({ target: path.basename(programs.everwire[0], '.js') });
  });

  test('of a bridge has the last bytes before a signal', async () => {
    const file = newFile();
    const child = startEverwire(['bridge', '--port', '0', '--record', file, '--', ...stdioDemo]);
    const [, url] = await child.line(/listening on (\S+)/);
    const { host, port } = new URL(url!);
    const body = INITIALIZE;
    const accept = 'Accept: application/json, text/event-stream\r\nContent-Type: application/json';
    const length = Buffer.byteLength(body);
    const sent = `POST /mcp HTTP/1.1\r\nHost: ${host}\r\n${accept}\r\nContent-Length: ${length}\r\n\r\n${body}`;
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(sent);
    const received: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => received.push(chunk));
    await once(socket, 'data');
    const closed = once(socket, 'close');
    // Far sooner than the bytes pass to the thread that records.
    child.child.kill('SIGTERM');
    await Promise.all([child.exited, closed]);
    const records = await read(file);
    const conn = records.findLast((record) => record.layer === 'open' && record.role === 'server') as { conn: number };
    expect(bytesOf(records, 'c>s', conn.conn).toString()).toBe(sent);
    expect(bytesOf(records, 's>c', conn.conn).toString()).toBe(Buffer.concat(received).toString());
  });

  test('that is cut short is an error, except for a host', async () => {
    const file = newFile();
    const message = `everwire: the recording ${file} is incomplete: the file has reached the size limit`;
    const limited = async (...args: string[]): Promise<unknown[]> => {
      // A shell counts the limit in half or whole kibibytes. `call` needs more.
      const command = [node, ...programs.everwire, ...args];
      const child = spawn('sh', ['-c', 'ulimit -f 1; exec "$@"', 'sh', ...command], {
        stdio: ['pipe', 'pipe', 'pipe'],
      });
      const [stdout, stderr] = [text(child.stdout), text(child.stderr)];
      child.stdin.end(`${INITIALIZE}\n${`${PING}\n`.repeat(20)}`);
      const [code] = (await once(child, 'exit')) as [number];
      return [code, (await stdout).trim(), (await stderr).trim()];
    };
    const server = startEverwire(['demo', '--port', '0']);
    const [, url] = await server.line(/listening on (\S+)/);
    expect(await limited('call', url!, 'add', 'a=1', 'b=2', '--record', file)).toEqual([1, '3', message]);
    expect(await limited('call', url!, 'add', 'a=1', 'b=x', '--record', file)).toEqual([
      2,
      '',
      expect.stringContaining('must be'),
    ]);
    const [code, , stderr] = await limited('demo', '--stdio', '--record', file);
    expect([code, stderr]).toEqual([1, message]);
    const through = await limited('inspect', '--through', '--record', file, '--', 'cat');
    expect(through).toEqual([0, expect.stringContaining(PING), expect.stringContaining(message)]);
  });

  test('to a file that cannot be written is wrong usage, and nothing is started', async () => {
    const file = path.join(temporaryFolder(), 'none', 'wire.mcpcap');
    const started = path.join(temporaryFolder(), 'started');
    const command = ['--', node, '-e', `require('fs').writeFileSync(${JSON.stringify(started)}, '')`];
    for (const line of [
      ['bridge', '--record', file, ...command],
      ['ping', '--record', file, ...command],
      ['demo', '--stdio', '--record', file],
    ]) {
      const { code, stderr } = await runEverwire(line);
      expect([code, stderr]).toEqual([
        2,
        `everwire: --record: cannot record to ${file}: there is no such file or folder`,
      ]);
    }
    expect(existsSync(started)).toBe(false);
  });
});
