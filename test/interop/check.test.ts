import { randomUUID } from 'node:crypto';
import { InMemoryEventStore } from '@modelcontextprotocol/sdk/examples/shared/inMemoryEventStore.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { afterAll, describe, expect, test } from 'vitest';
import { server as demo } from '../../examples/demo.ts';
import { check } from '../../src/check/check.ts';
import { BEHAVIOUR_RULES } from '../../src/check/rules/index.ts';
import type { AllowedCall, CheckedServer } from '../../src/check/server.ts';
import { Capture } from '../../src/inspect/capture.ts';
import { programs, eventually, root, startNode } from '../support/process.ts';
import { sessions, v1Http, v1Sse, v2Http, v2HttpSession } from './client/official-servers.ts';
import { officialV1 } from './client/official-v1.ts';
import { accepts, freePort } from './moving/commands.ts';

const PACKAGES = `${root}node_modules`;
const EVERYTHING = `${PACKAGES}/@modelcontextprotocol/server-everything/dist/index.js`;
const FILES = `${PACKAGES}/@modelcontextprotocol/server-filesystem/dist/index.js`;
const MEMORY = `${PACKAGES}/@modelcontextprotocol/server-memory/dist/index.js`;

/** A tool that takes half a second, so that what happens meanwhile can be tried. */
const slow: AllowedCall = { tool: 'trigger-long-running-operation', args: { duration: 0.5, steps: 5 } };

const command = (...args: string[]): CheckedServer => ({
  kind: 'command',
  target: { command: process.execPath, args },
});

const at = (url: unknown): CheckedServer => ({ kind: 'url', url: new URL(String(url)), headers: {} });

/** Ends what was started. Tests that run at once share it. */
const stops: (() => Promise<unknown>)[] = [];
afterAll(() => Promise.all(stops.map((stop) => stop())));

/** Starts a program that serves HTTP on the port that its arguments name. */
async function program(
  args: (port: number) => string[],
  env?: (port: number) => NodeJS.ProcessEnv,
): Promise<CheckedServer> {
  const port = await freePort();
  const server = startNode(args(port), env?.(port));
  stops.push(() => server.stop());
  await eventually(() => accepts(port), 'the program listens');
  return at(`http://127.0.0.1:${port}/mcp`);
}

async function hosted(started: Promise<{ target: unknown; stop: () => Promise<unknown> }>): Promise<CheckedServer> {
  const { target, stop } = await started;
  stops.push(stop);
  return at(target);
}

/** A server of the official SDK 1.x with one event store for all sessions, as its example shows it. */
function v1Events(): ReturnType<typeof v1Http> {
  const eventStore = new InMemoryEventStore();
  return sessions<StreamableHTTPServerTransport>(async (onopened) => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => onopened(id, transport),
      eventStore,
    });
    await officialV1().connect(transport);
    return transport;
  });
}

async function demoUrl(): Promise<string> {
  const listener = await demo.listen({ port: 0 });
  stops.push(() => listener.close());
  return listener.url;
}

const supergateway = (): Promise<CheckedServer> =>
  program((port) => [
    ...[`${PACKAGES}/supergateway/dist/index.js`, '--stdio', `"${process.execPath}" "${EVERYTHING}" stdio`],
    ...['--outputTransport', 'streamableHttp', '--port', String(port), '--logLevel', 'none', '--stateful'],
  ]);

const supergatewaySse = (): Promise<CheckedServer> =>
  program((port) => [
    ...[`${PACKAGES}/supergateway/dist/index.js`, '--stdio', `"${process.execPath}" "${EVERYTHING}" stdio`],
    ...['--outputTransport', 'sse', '--port', String(port), '--logLevel', 'none'],
  ]);

function overSse(server: CheckedServer): CheckedServer {
  const url = new URL('/sse', server.kind === 'url' ? server.url : undefined);
  return { kind: 'url', url, headers: {}, transport: 'sse' };
}

interface Peer {
  readonly start: () => Promise<CheckedServer> | CheckedServer;
  readonly calls?: readonly AllowedCall[];
  /** The rules about behaviour that it breaks, without advice. */
  readonly breaks: readonly string[];
}

/** Servers at a URL, which are started once. */
const AT_URLS: Readonly<Record<string, Peer>> = {
  'our demo over HTTP': {
    start: async () => at(await demoUrl()),
    breaks: [],
  },
  'the official SDK 1.x over HTTP': {
    start: () => hosted(v1Http()),
    breaks: [
      'batch-refused',
      'cursor-invalid',
      'log-level-unknown',
      'origin-checked',
      'origin-null-checked',
      'resource-missing',
      'session-unknown',
      'version-header-differs',
    ],
  },
  'the official SDK 1.x with an event store': {
    start: () => hosted(v1Events()),
    calls: [{ tool: 'count', args: { to: 5 } }],
    breaks: [
      'batch-refused',
      'cursor-invalid',
      'log-level-unknown',
      'origin-checked',
      'origin-null-checked',
      'replay-across-sessions',
      'resource-missing',
      'session-unknown',
      'version-header-differs',
    ],
  },
  'the official SDK 2.x over HTTP': {
    start: () => hosted(v2Http('stateless')),
    breaks: [
      'batch-refused',
      'cursor-invalid',
      'log-level-unknown',
      'origin-checked',
      'origin-null-checked',
      'resource-missing',
    ],
  },
  'the official SDK 2.x over HTTP with sessions': {
    start: () => hosted(v2HttpSession()),
    breaks: [
      'batch-refused',
      'cursor-invalid',
      'log-level-unknown',
      'origin-checked',
      'origin-null-checked',
      'resource-missing',
      'session-unknown',
      'version-header-differs',
    ],
  },
  'server-everything over HTTP': {
    start: () =>
      program(
        () => [EVERYTHING, 'streamableHttp'],
        (port) => ({ PORT: String(port) }),
      ),
    calls: [slow],
    breaks: [
      'batch-refused',
      'cursor-invalid',
      'duplicate-id-in-flight',
      'log-level-unknown',
      'origin-checked',
      'origin-null-checked',
      'resource-missing',
      'session-ended',
      'session-unknown',
      'version-header-differs',
    ],
  },
  'the official SDK 1.x over HTTP+SSE': {
    start: () => hosted(v1Sse()).then(overSse),
    breaks: [
      'batch-received',
      'cursor-invalid',
      'log-level-unknown',
      'origin-checked',
      'origin-null-checked',
      'resource-missing',
    ],
  },
  'supergateway over HTTP+SSE': {
    start: () => supergatewaySse().then(overSse),
    calls: [slow],
    breaks: [
      'answers-to-the-asker',
      'batch-received',
      'cursor-invalid',
      'log-level-unknown',
      'origin-checked',
      'origin-null-checked',
      'resource-missing',
      'sse-own-stream',
    ],
  },
  'mcp-proxy': {
    start: () =>
      program((port) => [
        ...[`${PACKAGES}/mcp-proxy/dist/bin/mcp-proxy.mjs`, '--host', '127.0.0.1', '--port', String(port)],
        ...['--', process.execPath, EVERYTHING, 'stdio'],
      ]),
    calls: [slow],
    breaks: [
      'batch-refused',
      'cursor-invalid',
      'duplicate-id-in-flight',
      'log-level-unknown',
      'origin-checked',
      'origin-null-checked',
      'resource-missing',
      'version-header-differs',
    ],
  },
  'supergateway with sessions': {
    start: () => supergateway(),
    breaks: [
      'batch-refused',
      'cursor-invalid',
      'duplicate-id-in-flight',
      'log-level-unknown',
      'origin-checked',
      'origin-null-checked',
      'resource-missing',
      'version-header-differs',
    ],
  },
  fastmcp: {
    start: async () => {
      const url = await program(
        () => [`${root}dist/examples/moving/fastmcp/fastmcp.js`],
        (port) => ({ PORT: String(port) }),
      );
      return { ...url, headers: { 'x-api-key': 'key-of-ada' } } as CheckedServer;
    },
    breaks: [
      'batch-refused',
      'cursor-invalid',
      'log-level-unknown',
      'origin-checked',
      'origin-null-checked',
      'prompt-argument-missing',
      'prompt-unknown',
      'resource-missing',
      'session-required',
      'session-required-to-listen',
      'version-header-differs',
    ],
  },
};

/** Commands, which are started for each probe. */
const COMMANDS: Readonly<Record<string, Peer>> = {
  'our demo over stdio': { start: () => command(...programs.everwire, 'demo', '--stdio'), breaks: [] },
  'server-everything over stdio': {
    start: () => command(EVERYTHING, 'stdio'),
    calls: [slow],
    breaks: ['batch-received', 'cursor-invalid', 'log-level-unknown', 'resource-missing'],
  },
  'server-filesystem': { start: () => command(FILES, root), breaks: ['batch-received', 'cursor-invalid'] },
  'server-memory': { start: () => command(MEMORY), breaks: ['batch-received', 'cursor-invalid', 'resource-missing'] },
  'supergateway to stdio': {
    start: async () =>
      command(`${PACKAGES}/supergateway/dist/index.js`, '--streamableHttp', await demoUrl(), '--logLevel', 'none'),
    breaks: ['batch-received', 'stdin-end-answers'],
  },
  'mcp-remote': {
    start: async () => command(`${PACKAGES}/mcp-remote/dist/proxy.js`, await demoUrl(), '--allow-http', '--silent'),
    breaks: ['batch-received', 'stdin-end-answers', 'unknown-method-code', 'unsupported-revision'],
  },
  'our bridge to stdio': {
    start: async () => command(...programs.everwire, 'bridge', '--stdio', await demoUrl()),
    breaks: [],
  },
};

async function breaksWhatIsKnown(name: string, peer: Peer): Promise<void> {
  const result = await check(await peer.start(), new Capture(), { calls: peer.calls });
  const ids = (severity: string): string[] => [
    ...new Set(result.findings.filter(({ rule }) => rule.severity === severity).map(({ rule }) => rule.id)),
  ];
  const lines = ['error', 'warning', 'advice'].map(
    (severity) => `  ${severity}: ${ids(severity).toSorted().join(', ')}`,
  );
  console.info([`${name}: ${result.spoken.map(({ revision }) => revision).join(', ')}`, ...lines].join('\n'));
  const behaviour = new Set(BEHAVIOUR_RULES.map(({ id }) => id));
  const breaks = [...ids('error'), ...ids('warning')].filter((id) => behaviour.has(id));
  const ofOurs = name.startsWith('our') ? result.findings : [];
  expect({ breaks: breaks.toSorted(), ofOurs }).toEqual({ breaks: peer.breaks.toSorted(), ofOurs: [] });
}

// A check of a server at a URL mostly waits for what must not come.
describe.concurrent('at a URL', () => {
  test.each(Object.entries(AT_URLS))('what %s breaks is known', { timeout: 300_000 }, breaksWhatIsKnown);
});

test.each(Object.entries(COMMANDS))('what %s breaks is known', { timeout: 300_000 }, breaksWhatIsKnown);
