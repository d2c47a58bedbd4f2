import { createInbound } from 'everwire';
import { createBridge } from 'everwire/bridge';
import type { Target } from 'everwire/client';
import { listen } from 'everwire/http';
import { root, startNode } from '../support/process.ts';
import { runServerSuite, type SuiteRun } from './suite.ts';

/** Milliseconds until the fixture must listen. Many processes start at once. */
const START_TIMEOUT = 30_000;
/**
 * Milliseconds. Less than the second of the tool that ends its stream before its response, but more than half of it,
 * because the suite reconnects only once.
 */
const STREAM_DURATION = 700;
const FIXTURE = `${root}dist/test/conformance/fixture-server.js`;

/** A bridge, the fixture behind it, and the scenarios to run. */
export interface Setup {
  /** The revision whose requirements are run. */
  readonly requirements: '2025-11-25' | '2026-07-28';
  /** The only era that the fixture serves. */
  readonly eras: 'legacy' | 'modern';
  /** The transport between the bridge and the fixture. */
  readonly transport: 'stdio' | 'HTTP';
}

/** A run of the official suite through a bridge. */
export interface BridgeRun {
  readonly run: SuiteRun;
  /** Errors of the bridge that no caller could get. */
  readonly errors: readonly string[];
}

/** Starts a bridge in front of its own fixture, and runs the official suite against the bridge. */
export async function runThroughBridge({ requirements, eras, transport }: Setup): Promise<BridgeRun> {
  const errors: string[] = [];
  const onerror = (error: Error): void => void errors.push(error.message);
  const fixture = transport === 'stdio' ? overStdio(eras) : await overHttp(eras);
  // Like `everwire bridge` on loopback: all callers are the same user, and a server protects its state itself.
  const bridge = createBridge({ target: fixture.target, anonymous: 'same-user', onerror });
  const inbound = createInbound(bridge.service, { sealState: false, onerror });
  const { onsession, onrequest } = inbound;
  const listener = await listen({ port: 0, onsession, onrequest, onerror, streamDuration: STREAM_DURATION });
  try {
    if (requirements === '2026-07-28') await greet(listener.url);
    return { run: await runServerSuite(listener.url, ['--requirements', requirements]), errors };
  } finally {
    await inbound.close(0);
    await listener.close();
    await bridge.close();
    await fixture.stop();
  }
}

/**
 * Makes the bridge connect before the suite's first call: the suite gives a call 600 ms, and on a busy machine a
 * process needs longer to start.
 */
async function greet(url: string): Promise<void> {
  const revision = '2026-07-28';
  const meta = {
    'io.modelcontextprotocol/protocolVersion': revision,
    'io.modelcontextprotocol/clientInfo': { name: 'conformance-client', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
  };
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-protocol-version': revision,
      'mcp-method': 'server/discover',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'server/discover', params: { _meta: meta } }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`The bridge does not answer: ${text}`);
}

interface Fixture {
  readonly target: Target;
  stop(): Promise<unknown>;
}

/** The bridge starts it, once for each of its connections. */
function overStdio(eras: Setup['eras']): Fixture {
  const args = [FIXTURE, '--stdio', '--eras', eras];
  return { target: { command: process.execPath, args }, stop: () => Promise.resolve() };
}

async function overHttp(eras: Setup['eras']): Promise<Fixture> {
  const fixture = startNode([FIXTURE, '--port', '0', '--eras', eras, '--stream-duration', '0']);
  try {
    const [, url] = await fixture.line(/^listening on (http:\S+)$/, START_TIMEOUT);
    return { target: url!, stop: () => fixture.stop() };
  } catch (error) {
    await fixture.stop();
    throw error;
  }
}
