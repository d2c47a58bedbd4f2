import { Capture } from '../../../src/inspect/capture.ts';

/** A capture with calls over HTTP and stdio: results, an error, progress, SSE, stderr, stray output, an open call. */
export function someTraffic(): Capture {
  const capture = new Capture();
  const http = capture.open({ protocol: 'http', role: 'client', peer: '127.0.0.1:4000' });
  const post = (message: object): void => {
    const body = JSON.stringify({ jsonrpc: '2.0', ...message });
    http.bytes(
      'c>s',
      Buffer.from(`POST /mcp HTTP/1.1\r\nMcp-Session-Id: a1\r\ncontent-length: ${body.length}\r\n\r\n${body}`),
    );
  };
  const answer = (...messages: object[]): void => {
    const events = messages
      .map((message) => `id: 1\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`)
      .join('');
    http.bytes(
      's>c',
      Buffer.from('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'),
    );
    http.bytes('s>c', Buffer.from(`${events.length.toString(16)}\r\n${events}\r\n0\r\n\r\n`));
  };
  post({ id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25' } });
  answer({ id: 1, result: { protocolVersion: '2025-11-25' } });
  post({ id: 2, method: 'tools/call', params: { name: 'search', arguments: { q: 'x' }, _meta: { progressToken: 2 } } });
  answer(
    { method: 'notifications/progress', params: { progressToken: 2, progress: 1 } },
    { id: 2, result: { content: [{ type: 'text', text: 'found' }] } },
  );
  post({ id: 3, method: 'tools/call', params: { name: 'missing' } });
  answer({ id: 3, error: { code: -32602, message: 'Unknown tool' } });
  const child = capture.open({ protocol: 'stdio', role: 'client', peer: 'node' });
  child.bytes('c>s', Buffer.from('{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'));
  child.bytes('stderr', Buffer.from('warning: old\n'));
  child.bytes('s>c', Buffer.from('stray\n'));
  return capture;
}
