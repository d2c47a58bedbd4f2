import { describe, expect, onTestFinished, test } from 'vitest';
import { Capture } from '../../src/inspect/capture.ts';
import { Inspector, type Choice } from '../../src/inspector/inspector.ts';
import { REVISIONS, type Revision } from '../../src/protocol/revisions.ts';
import { startUpstream, type Upstream } from './bridge-matrix/upstreams.ts';

/** Every revision over every transport: HTTP+SSE has none of those without a handshake. */
const PAIRS = (Object.keys(REVISIONS) as Revision[]).flatMap((revision) =>
  (['stdio', 'http', 'sse'] as const)
    .filter((transport) => transport !== 'sse' || REVISIONS[revision].era === 'legacy')
    .map((transport) => ({ revision, transport })),
);
const SHOWN = { stdio: 'stdio', http: 'streamable-http', sse: 'sse' } as const;

function choiceFor(target: Upstream['target']): Choice {
  const { command, args, url } = target as { command?: string; args?: string[]; url?: string | URL };
  const server: Choice['server'] =
    command === undefined
      ? { kind: 'url', url: new URL(url ?? target), headers: {} }
      : { kind: 'command', target: { command, args, stopTimeout: 100 } };
  return { id: 'x', name: 'x', source: 'test', detail: '', server };
}

describe('the inspector connects with no setting to an official server', () => {
  test.each(PAIRS)('of $revision over $transport', async ({ revision, transport }) => {
    const { target, stop } = await startUpstream({ revision, transport, heading: '' });
    onTestFinished(async () => void (await stop()));
    const inspector = new Inspector({ capture: new Capture(), choices: [choiceFor(target)] });
    onTestFinished(() => inspector.close());
    inspector.connect({ choice: 'x' });
    for await (const { connection } of inspector.feed.states(new AbortController().signal)) {
      if (connection.status === 'connecting') continue;
      expect(connection).toMatchObject({ status: 'connected', revision, transport: SHOWN[transport] });
      expect(connection.attempts.at(-1)).toMatchObject({ outcome: 'done' });
      break;
    }
    const { result } = await inspector.request({ key: 'a', method: 'tools/list', params: '{}' });
    expect(result).toMatchObject({ tools: expect.arrayContaining([]) as unknown[] });
  });

  test('there are fourteen pairs', () => expect(PAIRS).toHaveLength(14));
});
