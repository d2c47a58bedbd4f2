import { once } from 'node:events';
import { spawn, type ChildProcess } from 'node:child_process';
import { afterAll, expect, test } from 'vitest';
import { Capture } from '../inspect/capture.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { profileOf, REVISIONS, type Revision } from '../protocol/revisions.ts';
import { root } from '../../test/support/process.ts';
import { Ground, type Offer } from './ground.ts';
import { Marks } from './marks.ts';
import { Skip, type Outcome } from './outcome.ts';
import type { BehaviourRule } from './rule.ts';
import { BEHAVIOUR_RULES } from './rules/index.ts';
import type { CheckedServer } from './server.ts';

const FAULTY = `${root}test/fixtures/faulty.mjs`;
/** Rules about servers without handshakes. */
const MODERN_ONLY = new Set(['initialize-refused', 'get-refused']);
/** How the faulty server is told that it should break no rule. */
const NOTHING = 'nothing';
/** What rules need to call. */
const CALLS: Readonly<Record<string, Offer['calls']>> = {
  'request-state-verified': [{ tool: 'ask', args: {}, took: 0 }],
  'cancelled-call-goes-on': [{ tool: 'wait', args: {}, took: 1000 }],
};
const ALL = Object.keys(REVISIONS) as Revision[];

interface Case {
  readonly rule: BehaviourRule;
  readonly over: 'http' | 'sse' | 'stdio';
  readonly revision: Revision;
  readonly name: string;
}

/** The newest revision of each era in which a rule holds, over each carriage. */
const CASES: Case[] = BEHAVIOUR_RULES.flatMap((rule) =>
  carriagesOf(rule).flatMap((over) =>
    (over === 'sse' ? (['legacy'] as const) : (['legacy', 'modern'] as const)).flatMap((era) => {
      const revision = ALL.filter((each) => profileOf(each)!.era === era).findLast((each) => rule.clauses[each]);
      return revision === undefined ? [] : [{ rule, over, revision, name: `${rule.id} over ${over} in ${revision}` }];
    }),
  ),
);

function carriagesOf({ over, alsoOverSse }: BehaviourRule): Case['over'][] {
  if (over === undefined) return ['http', 'sse', 'stdio'];
  return alsoOverSse ? [over, 'sse'] : [over];
}

/** Rules that a broken server cannot break in every case. */
const NOT_BROKEN: Readonly<Record<string, string>> = {
  'cancelled-unknown-ignored over http in 2025-11-25': 'over HTTP, a refusal of a notification is allowed',
  'cancelled-unknown-ignored over http in 2026-07-28': 'over HTTP, a refusal of a notification is allowed',
  'notification-unknown over http in 2026-07-28': 'the server of the test has no such path',
};

const children: ChildProcess[] = [];
afterAll(() => children.forEach((child) => child.kill()));
/** One server for all rules that it obeys, in each era. */
const obedient = new Map<string, Promise<CheckedServer>>();

function serve(fault: string, over: Case['over'], isModernOnly: boolean): Promise<CheckedServer> | CheckedServer {
  const args = [FAULTY, fault, over, ...(isModernOnly ? ['modern'] : [])];
  if (over === 'stdio') return { kind: 'command', target: { command: process.execPath, args } };
  if (fault !== NOTHING) return startHttp(args);
  const key = args.join(' ');
  const server = obedient.get(key) ?? startHttp(args);
  obedient.set(key, server);
  return server;
}

async function startHttp(args: readonly string[]): Promise<CheckedServer> {
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  children.push(child);
  const [port] = (await once(child.stdout, 'data')) as [Buffer];
  const route = args.includes('sse') ? 'sse' : 'mcp';
  return { kind: 'url', url: new URL(`http://127.0.0.1:${Number(String(port))}/${route}`), headers: {} };
}

async function outcomeOf({ rule, over, revision }: Case, fault: string, capture = new Capture()): Promise<Outcome> {
  const isModernOnly = MODERN_ONLY.has(rule.id);
  const resources = rule.id === 'resource-subscribe-undeclared' ? {} : { subscribe: true };
  const capabilities: JsonObject = { tools: {}, resources, prompts: {}, logging: {} };
  const calls = CALLS[rule.id] ?? [];
  const ground = new Ground({
    server: await serve(fault, over, isModernOnly),
    route: over === 'sse' ? 'http+sse' : undefined,
    revision,
    spoken: isModernOnly ? ['2026-07-28'] : ALL,
    offer: {
      capabilities,
      tools: [],
      resources: [{ uri: 'faulty://one' }],
      prompts: [{ name: 'greet', arguments: [{ name: 'who', required: true }] }],
      calls,
    },
    marks: new Marks(capture),
    patience: fault === NOTHING ? 5000 : 2000,
    signal: new AbortController().signal,
  });
  try {
    return await rule.probe(ground);
  } catch (error) {
    if (error instanceof Skip) return { kind: 'skipped', why: error.message };
    throw error;
  } finally {
    await ground.close();
  }
}

test.concurrent.each(CASES)('a server that obeys $name is not reported', async (each) => {
  expect(await outcomeOf(each, NOTHING)).toEqual({ kind: 'right' });
});

test.concurrent.each(CASES.filter(({ name }) => NOT_BROKEN[name] === undefined))(
  'a server that breaks $name is reported',
  async (each) => {
    expect(await outcomeOf(each, each.rule.id)).toMatchObject({ kind: 'broken' });
  },
);

test('the ids of rules are unique, also among the rules for the wire', async () => {
  const { RULES } = await import('../lint/index.ts');
  const ids = [...BEHAVIOUR_RULES, ...RULES].map(({ id }) => id);
  expect(ids).toEqual([...new Set(ids)]);
});

/** Answers everything but batches: those with an error, or not at all. The errors leave with the next answer. */
const noBatches = (error: string): string => `
  let rest = '', out = '';
  process.stdin.on('data', (chunk) => {
    const lines = (rest + chunk).split('\\n');
    rest = lines.pop();
    for (const line of lines) {
      const value = JSON.parse(line);
      if (Array.isArray(value)) out += ${JSON.stringify(error)};
      else if (value.id !== undefined) {
        const result = { protocolVersion: '2025-03-26', capabilities: {}, serverInfo: { name: 's', version: '1' } };
        process.stdout.write(out + JSON.stringify({ jsonrpc: '2.0', id: value.id, result }) + '\\n');
        out = '';
      }
    }
  });`;

test.each([
  ['refuses', '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a batch"}}\n', /^\{.*a batch/],
  ['ignores', '', /^\[\{.*batch-1.*batch-2/],
] as const)(
  'the evidence that a stdio server %s a batch is the refusal, or else the batch',
  async (_, error, evidence) => {
    const rule = BEHAVIOUR_RULES.find(({ id }) => id === 'batch-received')!;
    const capture = new Capture();
    const ground = new Ground({
      server: { kind: 'command', target: { command: process.execPath, args: ['-e', noBatches(error)] } },
      revision: '2025-03-26',
      spoken: ['2025-03-26'],
      offer: { capabilities: {}, tools: [], resources: [], prompts: [], calls: [] },
      marks: new Marks(capture),
      patience: 5000,
      signal: new AbortController().signal,
    });
    const outcome = await rule.probe(ground);
    await ground.close();
    capture.close();
    const sent = new Map<string, string>();
    const shown: string[] = [];
    for await (const records of capture.records())
      for (const record of records) {
        if (!('dir' in record)) continue;
        const stream = `${record.conn} ${record.dir}`;
        if (record.layer === 'bytes') sent.set(stream, (sent.get(stream) ?? '') + record.bytes.toString());
        if (outcome.kind === 'broken' && outcome.records.includes(record.n))
          shown.push(sent.get(stream)!.slice(record.range[0], record.range[1]));
      }
    expect(outcome).toMatchObject({
      kind: 'broken',
      seen: expect.stringContaining('a batch of two pings: the server '),
    });
    expect(shown).toEqual([expect.stringMatching(evidence)]);
  },
);
