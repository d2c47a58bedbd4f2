import { onPage } from '../../lint/clauses.ts';
import { answered, type SeenEvent } from '../http-peer.ts';
import type { Ground } from '../ground.ts';
import type { HttpSession } from '../http-session.ts';
import { shown } from '../reply.ts';
import { broken, RIGHT, Skip, skipped } from '../outcome.ts';
import type { BehaviourRule } from '../rule.ts';

/** How long a stream that should stay silent is read, in milliseconds. */
const SILENCE = 1000;
/** How often it is tried to see messages of another session. */
const ROUNDS = 3;
/** A shorter id can be guessed: 62 characters to the power of 16 are 95 bits. */
const MIN_ID = 16;

/** @throws Skip if the server gives no session ids. */
async function statefulSession(ground: Ground): Promise<HttpSession & { id: string }> {
  const session = await ground.httpSession();
  if (session.id === undefined) throw new Skip('the server has no sessions');
  return session as HttpSession & { id: string };
}

/** Sends a request whose answer may be a stream: the slowest allowed call, or a list. @throws Skip */
async function longestRequest(
  ground: Ground,
  session: HttpSession,
  isEnough?: (event: SeenEvent) => boolean,
): Promise<readonly SeenEvent[]> {
  const { slowest: slow } = ground;
  const [list] = ground.lists;
  const id = session.nextId();
  const [method, params] = slow
    ? ['tools/call', { name: slow.tool, arguments: slow.args, _meta: { progressToken: id } }]
    : [list === undefined ? 'ping' : `${list}/list`, {}];
  const message = JSON.stringify({ jsonrpc: '2.0', id, method, params });
  const patience = ground.patience + (slow?.took ?? 0);
  const { events } = answered(await session.post(message, {}, { isEnough, patience }));
  if (events.length === 0) throw new Skip('the server answers without a stream');
  return events;
}

/** Sessions of Streamable HTTP, and their streams. */
export const SESSION_BEHAVIOUR: readonly BehaviourRule[] = [
  {
    id: 'several-clients',
    area: 'session',
    severity: 'warning',
    clauses: onPage('basic/transports', [undefined, '', '', '']),
    right: 'A second client should be able to connect while another is connected.',
    over: 'http',
    alsoOverSse: true,
    probe: async (ground) => {
      await ground.session();
      try {
        await ground.session();
        return RIGHT;
      } catch (error) {
        if (error instanceof Skip) return broken(`when a second client connected, ${error.message}`);
        throw error;
      }
    },
  },
  {
    id: 'session-id-random',
    area: 'session',
    severity: 'warning',
    clauses: onPage('basic/transports', [undefined, '33', '33', '40']),
    right: 'A session id should be unique, and too long to be guessed.',
    over: 'http',
    probe: async (ground) => {
      const [first, second] = [await statefulSession(ground), await statefulSession(ground)];
      if (first.id === second.id) return broken('two sessions had the same id');
      return second.id.length >= MIN_ID ? RIGHT : broken(`a session id had ${second.id.length} characters`);
    },
  },
  {
    id: 'session-required',
    area: 'session',
    severity: 'warning',
    clauses: onPage('basic/transports', [undefined, '36', '36', '44']),
    right: 'A server with session ids should answer a request without one with status 400.',
    over: 'http',
    probe: async (ground) => {
      const session = await statefulSession(ground);
      const answer = answered(await session.call('ping', {}, { headers: { 'mcp-session-id': undefined } }));
      return answer.status === 400 ? RIGHT : broken(shown(answer), answer.n);
    },
  },
  {
    id: 'session-required-to-listen',
    area: 'session',
    severity: 'warning',
    clauses: onPage('basic/transports', [undefined, '36', '36', '44']),
    right: 'A server with session ids should answer a GET without one with status 400 or 405.',
    over: 'http',
    probe: async (ground) => {
      const session = await statefulSession(ground);
      const answer = answered(
        await session.listen({ 'mcp-session-id': undefined }, { isEnough: () => true, patience: SILENCE }),
      );
      return answer.status === 400 || answer.status === 405 ? RIGHT : broken(shown(answer), answer.n);
    },
  },
  {
    id: 'session-unknown',
    area: 'session',
    severity: 'warning',
    clauses: onPage('basic/transports', [undefined, '37', '37', '45']),
    right:
      'The server should answer a request with an unknown session id with status 404, so that the client opens a new session.',
    over: 'http',
    probe: async (ground) => {
      const session = await statefulSession(ground);
      const unknown = crypto.randomUUID();
      const answer = answered(await session.call('ping', {}, { headers: { 'mcp-session-id': unknown } }));
      return answer.status === 404 ? RIGHT : broken(shown(answer), answer.n);
    },
  },
  {
    id: 'session-ended',
    area: 'session',
    severity: 'error',
    clauses: onPage('basic/transports', [undefined, '37', '37', '45']),
    right: 'After DELETE, the server must answer a request with the id of the session with status 404.',
    over: 'http',
    probe: async (ground) => {
      const session = await statefulSession(ground);
      const { id, headers } = session;
      const deleted = answered((await session.end())!);
      if (deleted.status >= 400) return skipped(`DELETE was answered with status ${deleted.status}`);
      const answer = answered(await session.call('ping', {}, { headers: { ...headers, 'mcp-session-id': id } }));
      return answer.status === 404 ? RIGHT : broken(`after DELETE, ${shown(answer)}`, answer.n);
    },
  },
  {
    id: 'stream-resumed',
    area: 'sse',
    severity: 'advice',
    clauses: onPage('basic/transports', [undefined, '31', '31', '38']),
    right:
      'If a stream with event ids breaks, a client should be able to resume it with `Last-Event-ID` and get the response.',
    over: 'http',
    probe: async (ground) => {
      const session = await statefulSession(ground);
      const events = await longestRequest(
        ground,
        session,
        ({ id, message }) => id !== undefined || message !== undefined,
      );
      const [first] = events;
      if (first?.id === undefined) return skipped('the stream has no event ids before its response');
      if (first.message && first.message['method'] === undefined) return skipped('its first event is the response');
      const took = Math.max(0, ...ground.offer.calls.map((each) => each.took));
      const answer = answered(
        await session.listen({ 'last-event-id': first.id }, { patience: ground.patience + took }),
      );
      const isResumed = answer.messages.some((each) => 'result' in each || 'error' in each);
      return isResumed ? RIGHT : broken(`to the GET that resumes the stream, ${shown(answer)}`, answer.n, first.n);
    },
  },
  {
    id: 'replay-across-sessions',
    area: 'sse',
    severity: 'error',
    clauses: onPage('basic/transports', [undefined, '32', '32', '39']),
    right: 'The server must not replay messages of one session in another session.',
    over: 'http',
    probe: async (ground) => {
      const [first, second] = [await statefulSession(ground), await statefulSession(ground)];
      let isTried = false;
      // Some event stores order events of one millisecond by chance.
      for (let round = 0; round < ROUNDS; round += 1) {
        const events = await longestRequest(ground, first);
        const start = events.findIndex(({ id }) => id !== undefined);
        const id = events[start]?.id;
        const later = events.slice(start + 1).flatMap(({ message }) => (message ? [JSON.stringify(message)] : []));
        if (id === undefined || later.length === 0) continue;
        isTried = true;
        const isEnough = ({ message }: SeenEvent): boolean => message !== undefined;
        const answer = answered(await second.listen({ 'last-event-id': id }, { patience: SILENCE, isEnough }));
        const leaked = answer.messages.find((each) => later.includes(JSON.stringify(each)));
        if (leaked)
          return broken(
            `the second session got a message of the first: ${JSON.stringify(leaked)}`,
            answer.n,
            events[start]!.n,
          );
      }
      return isTried ? RIGHT : skipped('the stream has no event id before its last message');
    },
  },
];
