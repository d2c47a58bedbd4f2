import { expect, test } from 'vitest';
import { Masks } from './masks.ts';
import { htmlPage } from './page.ts';
import type { RecordedPart, RecordedWire } from './recorded-wire.ts';

const DEPTH = 10_000;
const SECRET = 'planted-secret';
const deep = `${'['.repeat(DEPTH)}"<script>alert(1)</script>"${']'.repeat(DEPTH)}`;

function wireOf(texts: readonly string[]): RecordedWire {
  const parts = texts.map((text, at): RecordedPart => {
    const from = at % 2 === 0 ? 'client' : 'server';
    return { n: at + 1, t: at, conn: 1, from, kind: 'message', text, title: 'm' };
  });
  return { exchanges: [], parts };
}

test.each([
  ['an id', `{"jsonrpc":"2.0","id":${deep},"method":"tools/call","params":{"token":"${SECRET}"}}`],
  ['params', `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","a":${deep},"token":"${SECRET}"}}`],
  ['a name', `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":${deep},"token":"${SECRET}"}}`],
])('%s of any depth is shown in a page, escaped, cut and without secrets', async (_, request) => {
  const wire = wireOf([request, `{"jsonrpc":"2.0","id":${deep},"result":{"serverInfo":{"name":${deep}}}}`]);
  const page = await htmlPage(wire, 'deep', '2026-01-01T00:00:00.000Z', new Masks(wire));
  expect(page).toContain('tools/call');
  expect(page).toContain('&lt;script&gt;');
  expect(page).not.toContain('<script>alert');
  expect(page).not.toContain(SECRET);
  expect(page.length).toBeLessThan(300_000);
});

test('the indentation of a message in a page does not grow with the square of its depth', async () => {
  const depth = 2000;
  const wire = wireOf([
    `{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":${'['.repeat(depth)}${']'.repeat(depth)}}}`,
  ]);
  const page = await htmlPage(wire, 'deep', '2026-01-01T00:00:00.000Z', new Masks(wire));
  expect(page).toContain('['.repeat(depth));
  expect(page.length).toBeLessThan(20_000);
});

test('a secret in a message of any depth is also masked where another message repeats it', async () => {
  const request = `{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":${deep},"password":"${SECRET}"}}`;
  const wire = wireOf([request, `{"jsonrpc":"2.0","id":1,"result":{"said":"it is ${SECRET}"}}`]);
  const page = await htmlPage(wire, 'deep', '2026-01-01T00:00:00.000Z', new Masks(wire));
  expect(page).toContain('it is ');
  expect(page).not.toContain(SECRET);
});
