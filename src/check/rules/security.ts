import { clauses, onPage } from '../../lint/clauses.ts';
import type { Clauses } from '../../lint/rule.ts';
import { answered, type HeaderChanges } from '../http-peer.ts';
import type { Ground } from '../ground.ts';
import { isAccepted, shown, type Reply } from '../reply.ts';
import { broken, RIGHT, skipped, type Outcome } from '../outcome.ts';
import type { BehaviourRule } from '../rule.ts';
import { heartbeatOf, initializeParams, isModern } from '../session.ts';

/** A stream of HTTP+SSE that was opened. */
const OPENED: Reply = { status: 200, messages: [], n: 0 };

/** A page that nobody allowed. */
const FOREIGN = 'everwire-check.example';

const ORIGIN: Clauses = onPage('basic/transports', ['5', '7', '7', '8'], 'basic/transports/streamable-http 2');

/** The first request of a client, with other headers. It changes nothing, and its session is ended. */
async function firstRequest(ground: Ground, headers: HeaderChanges): Promise<Reply> {
  if (ground.overSse) return (await ground.unopenedSse().listen(headers)) ?? OPENED;
  const session = ground.unopenedHttp();
  const { revision } = ground;
  return answered(
    isModern(revision)
      ? await session.call(heartbeatOf(revision), {}, { headers })
      : await session.call('initialize', initializeParams(revision), { headers }),
  );
}

/** The first message on a stream of HTTP+SSE, with other headers. */
async function firstMessage(ground: Ground, headers: HeaderChanges): Promise<Reply> {
  const session = await ground.unopenedSse().connect();
  return session.call('initialize', initializeParams(ground.revision), { headers });
}

/** Right if the server refuses the first request of a client with this header. */
async function refuses(ground: Ground, name: 'Origin' | 'Host', value: string): Promise<Outcome> {
  const answer = await firstRequest(ground, { [name.toLowerCase()]: value });
  return isAccepted(answer) ? broken(`with ${name}: ${value}, ${shown(answer)}`, answer.n) : RIGHT;
}

/** What a server must not let a foreign page do. */
export const SECURITY_BEHAVIOUR: readonly BehaviourRule[] = [
  {
    id: 'origin-checked',
    area: 'security',
    severity: 'error',
    clauses: ORIGIN,
    right: 'The server must refuse a request with the `Origin` of a page that was not allowed.',
    over: 'http',
    alsoOverSse: true,
    probe: (ground) => refuses(ground, 'Origin', `https://${FOREIGN}`),
  },
  {
    id: 'origin-null-checked',
    area: 'security',
    severity: 'warning',
    clauses: ORIGIN,
    right: 'The server should refuse a request with `Origin: null`, which a sandboxed frame sends.',
    over: 'http',
    alsoOverSse: true,
    probe: (ground) => refuses(ground, 'Origin', 'null'),
  },
  {
    id: 'origin-403',
    area: 'security',
    severity: 'error',
    clauses: clauses(undefined, undefined, undefined, 'basic/transports 9', 'basic/transports/streamable-http 3'),
    right: 'The refusal of an `Origin` must have the status 403.',
    over: 'http',
    alsoOverSse: true,
    probe: async (ground) => {
      const answer = await firstRequest(ground, { origin: `https://${FOREIGN}` });
      if (isAccepted(answer)) return skipped('the Origin is not refused');
      return answer.status === 403 ? RIGHT : broken(`with Origin: https://${FOREIGN}, ${shown(answer)}`, answer.n);
    },
  },
  {
    id: 'host-checked',
    area: 'security',
    severity: 'advice',
    clauses: ORIGIN,
    right:
      'A server on loopback should refuse other names in `Host`: a page could use one to reach it (DNS rebinding).',
    over: 'http',
    alsoOverSse: true,
    probe: async (ground) => {
      if (!ground.peer().isLoopback) return skipped('the server is not on loopback');
      return refuses(ground, 'Host', FOREIGN);
    },
  },
  {
    id: 'content-type-checked',
    area: 'security',
    severity: 'advice',
    clauses: ORIGIN,
    right:
      'The server should refuse a POST with `Content-Type: text/plain`: browsers send it without asking the server first.',
    over: 'http',
    alsoOverSse: true,
    probe: async (ground) => {
      const headers = { 'content-type': 'text/plain' };
      const answer = await (ground.overSse ? firstMessage(ground, headers) : firstRequest(ground, headers));
      return isAccepted(answer) ? broken(shown(answer), answer.n) : RIGHT;
    },
  },
];
