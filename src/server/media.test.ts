import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../test/support/command-line.ts';
import { connect } from '../client/connect.ts';
import { McpServer } from './mcp-server.ts';
import { audio, image, resource, type MediaSource } from './media.ts';

const bytes = Buffer.from('some bytes');
const base64 = bytes.toString('base64');

test('a Buffer, a Uint8Array, base64 and a file become the same image', async () => {
  const file = path.join(temporaryFolder(), 'a.png');
  writeFileSync(file, bytes);
  const sources: MediaSource[] = [bytes, new Uint8Array(bytes), { base64 }, { path: file }];
  for (const source of sources) {
    expect(await image(source, 'image/png')).toEqual({ type: 'image', data: base64, mimeType: 'image/png' });
  }
});

test('sound and resources are made in the same way', async () => {
  expect(await audio(bytes, 'audio/wav')).toEqual({ type: 'audio', data: base64, mimeType: 'audio/wav' });
  expect(await resource('a://b', bytes)).toEqual({ type: 'resource', resource: { uri: 'a://b', blob: base64 } });
  expect(await resource('a://b', 'text', 'text/plain')).toEqual({
    type: 'resource',
    resource: { uri: 'a://b', mimeType: 'text/plain', text: 'text' },
  });
});

test('what is no source is refused with a list of the sources', async () => {
  await expect(image('a.png' as never, 'image/png')).rejects.toThrow(
    new TypeError('image() needs bytes (a Buffer or Uint8Array), { base64 } or { path }'),
  );
  await expect(image({ path: import.meta.dirname }, 'image/png')).rejects.toThrow('it is not a regular file');
});

test.each([
  [new Uint8Array(3), 'a tool cannot return bytes; use image(), audio() or resource()'],
  [{ type: 'image', data: bytes, mimeType: 'image/png' }, 'the data of image content must be base64; use image(bytes,'],
])('a tool that returns bytes fails, and the error names the functions for them', async (reply, message) => {
  const errors: Error[] = [];
  const server = new McpServer({ name: 's', version: '1', onerror: (error) => errors.push(error) });
  server.tool('t', {}, () => reply as never);
  const client = await connect(server);
  expect(await client.callTool('t')).toMatchObject({ isError: true });
  expect(errors[0]?.message).toContain(message);
  await client.close();
});
