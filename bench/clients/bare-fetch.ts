import { expectSum, run, target } from './load.ts';

/** The limit for a client over HTTP with the global `fetch`. */
async function call(n: number): Promise<void> {
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: n,
    method: 'tools/call',
    params: { name: 'add', arguments: { a: n, b: 1 } },
  });
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const response = await fetch(target, { method: 'POST', headers, body });
  const { result } = (await response.json()) as { result: { content: { text: string }[] } };
  expectSum(result.content[0]?.text, n);
}

await run(() => Promise.resolve({ call, close: () => Promise.resolve() }));
