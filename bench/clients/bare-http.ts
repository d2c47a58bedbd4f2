import { Agent, request } from 'node:http';
import { expectSum, run, target } from './load.ts';

/** The limit for a client over HTTP: keep-alive connections and the JSON work. */
const agent = new Agent({ keepAlive: true });

function call(n: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: n,
      method: 'tools/call',
      params: { name: 'add', arguments: { a: n, b: 1 } },
    });
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'content-length': Buffer.byteLength(body),
    };
    const sent = request(target, { method: 'POST', agent, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (text += chunk));
      response.on('end', () => {
        expectSum(JSON.parse(text).result.content[0].text, n);
        resolve();
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

await run(() => Promise.resolve({ call, close: () => Promise.resolve() }));
