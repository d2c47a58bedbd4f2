import { onPage } from '../../lint/clauses.ts';
import type { Clauses } from '../../lint/rule.ts';
import { profileOf } from '../../protocol/revisions.ts';
import { answered } from '../http-peer.ts';
import { errorIn, isAccepted, resultIn, shown } from '../reply.ts';
import { broken, RIGHT, skipped } from '../outcome.ts';
import type { BehaviourRule } from '../rule.ts';
import { goesOn, heartbeatOf } from '../session.ts';
import { NO_REVISION } from './lifecycle.ts';

/** Each revision with Streamable HTTP. */
const TRANSPORT: Clauses = onPage('basic/transports', [undefined, '', '', ''], 'basic/transports/streamable-http');
/** Larger than what servers take, and no flood. Bytes. */
const LARGE_HEADER = 64 * 1024;
/** How often two requests are sent at the same time. */
const ROUNDS = 5;

/** Statuses and headers of HTTP. */
export const HTTP_BEHAVIOUR: readonly BehaviourRule[] = [
  {
    id: 'not-json-status',
    area: 'http',
    severity: 'error',
    clauses: TRANSPORT,
    right: 'The server must answer a body that is not JSON with a 4xx status or a JSON-RPC error.',
    over: 'http',
    probe: async (ground) => {
      const answer = answered(await (await ground.httpSession()).post('{"jsonrpc": "2.0", '));
      if (errorIn(answer) || (answer.status >= 400 && answer.status < 500)) return RIGHT;
      return broken(shown(answer), answer.n);
    },
  },
  {
    id: 'not-json-code',
    area: 'http',
    severity: 'advice',
    clauses: TRANSPORT,
    right:
      'The server should answer a body that is not JSON with status 400 and the error −32700 (JSON-RPC 2.0, section 5.1).',
    over: 'http',
    probe: async (ground) => {
      const answer = answered(await (await ground.httpSession()).post('{"jsonrpc": "2.0", '));
      return answer.status === 400 && errorIn(answer)?.['code'] === -32700 ? RIGHT : broken(shown(answer), answer.n);
    },
  },
  {
    id: 'accept-respected',
    area: 'http',
    severity: 'advice',
    clauses: TRANSPORT,
    right: 'The server should refuse a POST that accepts neither JSON nor event streams, with status 406.',
    over: 'http',
    probe: async (ground) => {
      const session = await ground.httpSession();
      const answer = answered(
        await session.call(heartbeatOf(ground.revision), {}, { headers: { accept: 'text/html' } }),
      );
      return isAccepted(answer) ? broken(shown(answer), answer.n) : RIGHT;
    },
  },
  {
    id: 'response-accepted',
    area: 'http',
    severity: 'error',
    clauses: onPage('basic/transports', [undefined, '14,15', '14,15', '16,17']),
    right: 'The server must answer a POST of a response with 202 and no body, or with an HTTP error.',
    over: 'http',
    probe: async (ground) => {
      const session = await ground.httpSession();
      const response = JSON.stringify({ jsonrpc: '2.0', id: 'no-such-request', result: {} });
      const answer = answered(await session.post(response, {}, { isEnough: () => true }));
      if (answer.status >= 400) return RIGHT;
      return answer.status === 202 && answer.text === '' ? RIGHT : broken(shown(answer), answer.n);
    },
  },
  {
    id: 'version-header-unsupported',
    area: 'http',
    severity: 'error',
    clauses: onPage('basic/transports', [undefined, undefined, '43', '51']),
    right: 'The server must answer a request with an unsupported `MCP-Protocol-Version` with status 400.',
    over: 'http',
    probe: async (ground) => {
      const session = await ground.httpSession();
      const answer = answered(await session.call('ping', {}, { headers: { 'mcp-protocol-version': NO_REVISION } }));
      return answer.status === 400 ? RIGHT : broken(shown(answer), answer.n);
    },
  },
  {
    id: 'version-header-differs',
    area: 'http',
    severity: 'warning',
    clauses: onPage('basic/lifecycle', [undefined, undefined, '14', '14']),
    right:
      'In a session, the server should refuse a request with another `MCP-Protocol-Version` than the negotiated one.',
    over: 'http',
    probe: async (ground) => {
      const session = await ground.httpSession();
      if (session.id === undefined) return skipped('the server has no sessions');
      const other = ground.spoken.find(
        (each) => each !== ground.revision && profileOf(each)!.versionHeader && profileOf(each)!.era === 'legacy',
      );
      const named = other ?? (ground.revision === '2025-06-18' ? '2025-11-25' : '2025-06-18');
      const answer = answered(await session.call('ping', {}, { headers: { 'mcp-protocol-version': named } }));
      return isAccepted(answer)
        ? broken(`to a request with ${named} in a session of ${ground.revision}, ${shown(answer)}`, answer.n)
        : RIGHT;
    },
  },
  {
    id: 'header-too-large',
    area: 'http',
    severity: 'error',
    clauses: TRANSPORT,
    right: 'If a request has a header of 64 KiB, the server must not answer with a 5xx status, and must keep working.',
    over: 'http',
    alsoOverSse: true,
    probe: async (ground) => {
      const session = await ground.session();
      const large = 'x'.repeat(LARGE_HEADER);
      const answer = await session.call(heartbeatOf(ground.revision), {}, { headers: { 'x-everwire-check': large } });
      if ((answer.status ?? 0) >= 500) return broken(shown(answer), answer.n);
      return goesOn(await ground.session(), answer);
    },
  },
  {
    id: 'answers-to-the-asker',
    area: 'http',
    severity: 'error',
    clauses: onPage('basic/index', [undefined, '6', '6', '6', '6']),
    right: 'If the requests of two clients have the same id, each client must get its own answer.',
    over: 'http',
    alsoOverSse: true,
    probe: async (ground) => {
      const [list] = ground.lists;
      const [first, second] = await Promise.all([ground.session(), ground.session()]);
      const method = heartbeatOf(ground.revision);
      if (list === undefined) return skipped('the server has no lists');
      for (let round = 0; round < ROUNDS; round += 1) {
        const id = `same-${round}`;
        const [listed, pinged] = await Promise.all([
          first.call(`${list}/list`, {}, { id }),
          second.call(method, {}, { id }),
        ]);
        if (resultIn(pinged)?.[list] !== undefined)
          return broken(`${method} got the answer to ${list}/list of another client`, pinged.n);
        const got = resultIn(listed);
        if (got && got[list] === undefined)
          return broken(`${list}/list got the answer to another client: ${shown(listed)}`, listed.n);
        for (const answer of [listed, pinged])
          if (!errorIn(answer) && !resultIn(answer) && (answer.status ?? 0) < 400)
            return broken(`a request was not answered while another client used its id: ${shown(answer)}`, answer.n);
      }
      return RIGHT;
    },
  },
  {
    id: 'duplicate-id-in-flight',
    area: 'http',
    severity: 'warning',
    clauses: onPage('basic/transports', [undefined, '18', '18', '24']),
    right:
      'If two requests in progress have the same id, the server should answer each with its own answer, or refuse one.',
    over: 'http',
    probe: async (ground) => {
      const session = await ground.httpSession();
      const [list] = ground.lists;
      if (list === undefined) return skipped('the server has no lists');
      const { slowest: slow } = ground;
      for (let round = 0; round < ROUNDS; round += 1) {
        const id = `twice-${round}`;
        const longer = slow
          ? session.call(
              'tools/call',
              { name: slow.tool, arguments: slow.args },
              { id, patience: ground.patience + slow.took },
            )
          : session.call(`${list}/list`, {}, { id });
        const [one, pinged] = await Promise.all([longer, session.call('ping', {}, { id })]);
        const result = resultIn(pinged);
        if (result && (result[list] !== undefined || result['content'] !== undefined))
          return broken(`ping got the answer of the other request with its id: ${shown(pinged)}`, pinged.n);
        const own = resultIn(one);
        if (own && own[list] === undefined && own['content'] === undefined)
          return broken(`the other request got the answer of ping: ${shown(one)}`, one.n);
        for (const answer of [one, pinged])
          if (!errorIn(answer) && !resultIn(answer) && answer.status < 400)
            return broken(`a request was not answered while its id was used twice: ${shown(answer)}`, answer.n);
      }
      return RIGHT;
    },
  },
];
