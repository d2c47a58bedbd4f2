import { pause } from '../../base/wait.ts';
import { clauses, everywhere } from '../../lint/clauses.ts';
import { isAccepted, resultIn, shown } from '../reply.ts';
import { broken, RIGHT, skipped } from '../outcome.ts';
import type { BehaviourRule } from '../rule.ts';
import { isAlive, requestOf } from '../session.ts';

/** How long a server may take to notice that a stream was closed, in milliseconds. */
const NOTICED = 500;

/** The streams of HTTP+SSE, and the endpoints that belong to them. */
export const SSE_BEHAVIOUR: readonly BehaviourRule[] = [
  {
    id: 'sse-own-stream',
    area: 'sse',
    severity: 'error',
    clauses: clauses('basic/messages 5', 'basic/index 6', 'basic/index 6', 'basic/index 6'),
    right: 'A response must be only on the stream of the client that sent the request.',
    over: 'sse',
    probe: async (ground) => {
      const [first, second] = [await ground.unopenedSse().open(), await ground.unopenedSse().open()];
      const id = 'of-the-first-client';
      const reply = await first.call('ping', {}, { id });
      if (!resultIn(reply)) return skipped(`ping failed: ${shown(reply)}`);
      // What was sent to the second client before this answer has come by now.
      await second.call('ping');
      const leaked = second.events.find(({ message }) => message?.['id'] === id);
      return leaked
        ? broken(`the second client got the response to the first: ${leaked.data}`, leaked.n, reply.n)
        : RIGHT;
    },
  },
  {
    id: 'sse-session-unknown',
    area: 'session',
    severity: 'advice',
    clauses: everywhere('basic/transports'),
    right: 'The server should refuse a message to an endpoint that no stream has named.',
    over: 'sse',
    probe: async (ground) => {
      const session = await ground.unopenedSse().open();
      const [name] = [...session.endpoint.searchParams.keys()];
      if (name === undefined) return skipped('the endpoint has no session in its query');
      const unknown = new URL(session.endpoint);
      unknown.searchParams.set(name, crypto.randomUUID());
      const ping = JSON.stringify(requestOf(ground.revision, session.nextId(), 'ping'));
      const answer = await session.post(ping, {}, unknown);
      return isAccepted(answer) ? broken(shown(answer), answer.n) : RIGHT;
    },
  },
  {
    id: 'sse-session-ended',
    area: 'session',
    severity: 'advice',
    clauses: everywhere('basic/transports'),
    right:
      'When a client has closed its stream, the server should refuse messages to its endpoint, and serve other clients.',
    over: 'sse',
    probe: async (ground) => {
      const session = await ground.unopenedSse().open();
      const { endpoint } = session;
      session.leave();
      await pause(NOTICED, ground.signal);
      const other = await ground.unopenedSse().open();
      const ping = JSON.stringify(requestOf(ground.revision, session.nextId(), 'ping'));
      const answer = await other.post(ping, {}, endpoint);
      if (!(await isAlive(other))) return broken('after that, the server did not answer another client', answer.n);
      return isAccepted(answer) ? broken(`after the stream was closed, ${shown(answer)}`, answer.n) : RIGHT;
    },
  },
];
