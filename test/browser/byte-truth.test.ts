import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { describeInBrowser, openPage } from './support/browser.ts';
import { compareBytes, WirePage } from './support/wire.ts';
import { Capture } from '../../src/inspect/capture.ts';
import { tapSocket, tapStreams } from '../../src/transport/wiretap.ts';

const BODY = Buffer.from('{"jsonrpc":"2.0","id":"grüße €","method":"tools/list","params":{"n":1.0000000000000000001}}');
const REQUEST = Buffer.concat([
  Buffer.from(
    'POST /mcp HTTP/1.1\r\nhOsT: localhost\r\nX-Odd:   spaces  \r\nx-odd: Twice\r\nTransfer-Encoding: chunked\r\n\r\n',
  ),
  chunk(BODY.subarray(0, 28)),
  chunk(BODY.subarray(28)),
  Buffer.from('0\r\n\r\n'),
]);
const EVENTS = Buffer.from(
  ': hello\n\nid: 7\r\nretry: 250\r\nevent: message\r\ndata: {"jsonrpc":"2.0","id":"grüße €",\r\ndata: "result":{"e":1E400}}\r\n\r\n',
);
const ANSWER = Buffer.concat([
  Buffer.from('HTTP/1.1 200 Fine\r\nCONTENT-type: text/event-stream\r\ntransfer-encoding: Chunked\r\n\r\n'),
  ...[...EVENTS].map((byte) => chunk(Buffer.of(byte))),
  Buffer.from('0\r\n\r\n'),
]);

function chunk(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)};odd=1\r\n`), bytes, Buffer.from('\r\n')]);
}

describeInBrowser('the Wire screen shows the bytes', (browser) => {
  test('that raw sockets sent, in both directions', async () => {
    const capture = new Capture();
    const received: Buffer[] = [];
    const server = createServer((socket) => {
      socket.on('data', (data) => {
        received.push(data);
        if (Buffer.concat(received).length === REQUEST.length) socket.end(ANSWER);
      });
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    await once(socket, 'connect');
    tapSocket(capture, { protocol: 'http', role: 'client', peer: '127.0.0.1' }, socket);
    socket.resume();
    for (let at = 0; at < REQUEST.length; at += 50) {
      socket.write(REQUEST.subarray(at, at + 50));
      await turn();
    }
    await once(socket, 'close');
    expect(Buffer.concat(received)).toEqual(REQUEST);

    const { page, misdeeds } = await openPage(browser(), { capture });
    const wire = new WirePage(page);
    await compareBytes(wire, 'c>s', REQUEST);
    await compareBytes(wire, 's>c', ANSWER);
    await wire.filter.fill('kind:request');
    expect(await wire.rows().count()).toBe(1);
    // Numbers as written, and a message that two chunks cut.
    await expect
      .poll(() => wire.open(wire.rows(), 'Message').then((panel) => panel.textContent()))
      .toContain('n: 1.0000000000000000001');
    await wire.open(wire.rows(), 'Bytes');
    expect((await wire.bytes()).hash).not.toBe('');
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save bytes' }).click();
    expect(await readFile(await (await download).path())).toEqual(BODY);

    const heads = await wire.open(wire.rows(), 'HTTP');
    await expect
      .poll(() => heads.locator('pre').allTextContents())
      .toEqual([
        'POST /mcp HTTP/1.1\nhOsT: localhost\nX-Odd:   spaces  \nx-odd: Twice\nTransfer-Encoding: chunked\n\n',
        'HTTP/1.1 200 Fine\nCONTENT-type: text/event-stream\ntransfer-encoding: Chunked\n\n',
      ]);
    const frames = await wire.open(wire.rows(), 'Frames');
    await expect
      .poll(() => frames.locator('dl').allTextContents())
      .toEqual([
        'commenthello',
        'id7retry250eventmessagedata{"jsonrpc":"2.0","id":"grüße €",data"result":{"e":1E400}}',
      ]);
    expect(misdeeds).toEqual([]);
  });

  test('but hides the credentials in rows and heads until a person asks for them', async () => {
    const capture = new Capture();
    const tap = capture.open({ protocol: 'http', role: 'client' });
    tap.bytes('c>s', Buffer.from('GET /mcp?key=hidden1 HTTP/1.1\r\nAuthorization: Bearer hidden2\r\nHost: a\r\n\r\n'));
    const { page, misdeeds } = await openPage(browser(), { capture });
    const wire = new WirePage(page);
    await wire.filter.fill('layer:head or layer:bytes');
    const panel = await wire.open(wire.rows('GET').last(), 'HTTP');
    await panel.getByRole('button', { name: 'Show secrets' }).waitFor();
    expect(await page.locator('body').textContent()).not.toContain('hidden');
    // What is copied is what is shown.
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const copied = async (): Promise<string> => {
      await panel.getByRole('button', { name: 'Copy request head' }).click();
      await panel.getByRole('button', { name: 'Copied' }).waitFor();
      return page.evaluate(() => navigator.clipboard.readText());
    };
    expect(await copied()).toBe('GET /mcp?key=•••••••• HTTP/1.1\r\nAuthorization: ••••••••\r\nHost: a\r\n\r\n');
    await panel.getByRole('button', { name: 'Show secrets' }).click();
    expect(await copied()).toContain('Authorization: Bearer hidden2\r\n');
    expect(await panel.textContent()).toContain('hidden1');
    expect(await panel.textContent()).toContain('Bearer hidden2');
    await panel.getByRole('button', { name: 'Hide secrets' }).click();
    expect(await panel.textContent()).not.toContain('hidden');
    expect(misdeeds).toEqual([]);
  });

  test('of a child with stray output, stderr, and a last line without an end', async () => {
    const output = Buffer.from(
      '{"jsonrpc":"2.0","id":1,"result":{}}\nnot a message \u0007\n{"jsonrpc":"2.0","method":"x/y"}\r\nend',
    );
    const errors = Buffer.from('first\nsecond \u001b[31mred\n');
    const capture = new Capture();
    const script = `process.stdin.resume().on('end', () => { process.stderr.write(${JSON.stringify(errors.toString())}, () => process.stdout.write(${JSON.stringify(output.toString())})); });`;
    const child = spawn(process.execPath, ['-e', script]);
    const streams = { input: child.stdout, output: child.stdin, stderr: child.stderr };
    const end = tapStreams(capture, { protocol: 'stdio', role: 'client', peer: 'node' }, streams);
    child.stdout.resume();
    child.stderr.resume();
    const input = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
    child.stdin.end(input);
    await once(child, 'close');
    end();

    const { page, misdeeds } = await openPage(browser(), { capture });
    const wire = new WirePage(page);
    await compareBytes(wire, 'c>s', input);
    await compareBytes(wire, 's>c', output);
    await compareBytes(wire, 'stderr', errors);
    await wire.filter.fill('method:ping kind:request');
    const frames = await wire.open(wire.rows(), 'Frames');
    await expect
      .poll(() => frames.locator('pre').allTextContents())
      .toEqual([
        '{"jsonrpc":"2.0","id":1,"method":"ping"}',
        'first',
        'second \\u001b[31mred',
        '{"jsonrpc":"2.0","id":1,"result":{}}',
        'not a message \\u0007',
        '{"jsonrpc":"2.0","method":"x/y"}',
        'end',
      ]);
    expect(await frames.getByText('not a message', { exact: true }).count()).toBe(2);
    expect(misdeeds).toEqual([]);
  });
});
