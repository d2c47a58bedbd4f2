import { Duplex, PassThrough, Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { tapStreams, type WireConnection, type Wiretap } from './wiretap.ts';

/** A tap that writes down what it sees. */
function recorder() {
  const seen: string[] = [];
  const wiretap: Wiretap = {
    open: ({ role }) => {
      seen.push(`open ${role}`);
      return {
        bytes: (stream, chunk) => void seen.push(`${stream} ${chunk.toString('latin1')}`),
        close: () => void seen.push('close'),
      };
    },
  };
  return { wiretap, seen };
}

const SERVER: WireConnection = { protocol: 'stdio', role: 'server' };
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

test('received bytes are seen before the transport reads them, and sent text is seen as bytes', async () => {
  const { wiretap, seen } = recorder();
  const [input, output] = [new PassThrough(), new PassThrough()];
  input.on('data', (chunk) => {
    seen.push(`read ${chunk}`);
    if (seen.length === 3) output.write('é', 'latin1');
    if (!output.writableEnded) output.end(Buffer.from('z'));
  });
  const undo = tapStreams(wiretap, SERVER, { input, output });
  input.write('a');
  await turn();
  undo();
  undo();
  input.write('b');
  await turn();
  expect(seen).toEqual(['open server', 'c>s a', 'read a', 's>c é', 's>c z', 'close', 'read b']);
});

test('a socket is one stream for both, and a client sends what a server receives', async () => {
  const { wiretap, seen } = recorder();
  const sent: string[] = [];
  const socket = new Duplex({
    read: () => {},
    write: (chunk, _encoding, done) => {
      sent.push(String(chunk));
      done();
    },
    writev: (chunks, done) => {
      sent.push(chunks.map(({ chunk }) => String(chunk)).join('|'));
      done();
    },
    decodeStrings: false,
  });
  tapStreams(wiretap, { protocol: 'http', role: 'client' }, { input: socket, output: socket });
  socket.on('readable', () => socket.read());
  socket.cork();
  socket.write('a');
  socket.write(Buffer.from('b'));
  socket.uncork();
  socket.write('c');
  socket.push('d');
  await turn();
  expect(seen).toEqual(['open client', 'c>s a', 'c>s b', 'c>s c', 's>c d']);
  expect(sent).toEqual(['a|b', 'c']);
});

test('data that is never handed over is not seen', () => {
  const { wiretap, seen } = recorder();
  const output = new Writable({ write: () => {} });
  tapStreams(wiretap, SERVER, { input: new PassThrough(), output });
  output.write('a');
  output.write('b');
  expect(seen).toEqual(['open server', 's>c a']);
});

test('stderr and decoded text are seen as bytes', async () => {
  const { wiretap, seen } = recorder();
  const [input, output, stderr] = [new PassThrough({ encoding: 'utf8' }), new PassThrough(), new PassThrough()];
  tapStreams(wiretap, { protocol: 'stdio', role: 'client' }, { input, output, stderr });
  input.write('ä');
  input.resume();
  stderr.resume();
  stderr.write('oops');
  await turn();
  expect(seen).toEqual(['open client', 's>c Ã¤', 'stderr oops']);
});
