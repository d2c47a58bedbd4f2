import { Agent, request } from 'node:http';

/**
 * The limit for a bridge from stdio to HTTP: lines, one keep-alive connection for each request in flight, the JSON work
 * in between.
 */

const url = new URL(process.argv[2]!);
const agent = new Agent({ keepAlive: true });
let session: string | undefined;
/** Requests wait for the handshake, which opens the session. */
let opened = Promise.resolve();

function send(line: string): Promise<void> {
  const body = JSON.stringify(JSON.parse(line));
  const headers: Record<string, string | number> = {
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  };
  if (session !== undefined) headers['mcp-session-id'] = session;
  return new Promise((resolve) => {
    request(url, { method: 'POST', agent, headers }, (response) => {
      session ??= response.headers['mcp-session-id'] as string | undefined;
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => {
        if (text !== '') process.stdout.write(`${JSON.stringify(JSON.parse(text))}\n`);
        resolve();
      });
    }).end(body);
  });
}

let rest = '';
process.stdin.setEncoding('utf8');
process.stdin.on('data', (chunk: string) => {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop()!;
  for (const line of lines) {
    if (session === undefined) opened = opened.then(() => send(line));
    else void send(line);
  }
});
