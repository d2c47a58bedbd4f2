import { ErrorCode } from '../../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { clauses } from '../../lint/clauses.ts';
import type { Clauses } from '../../lint/rule.ts';
import { McpErrorCode } from '../../protocol/errors.ts';
import { Meta } from '../../protocol/methods.ts';
import { profileOf } from '../../protocol/revisions.ts';
import { answered, type HeaderChanges, type HttpAnswer, type SeenEvent } from '../http-peer.ts';
import { HttpSession } from '../http-session.ts';
import type { Ground } from '../ground.ts';
import { codeIn, errorIn, resultIn, shown, type Reply } from '../reply.ts';
import { broken, RIGHT, Skip, skipped, type Outcome } from '../outcome.ts';
import type { BehaviourRule } from '../rule.ts';
import { goesOn, metaOf, requestOf, type RawSession } from '../session.ts';
import type { StdioSession } from '../stdio-session.ts';

function only(clause: string): Clauses {
  return clauses(undefined, undefined, undefined, undefined, clause);
}

const PAGE = 'basic/transports/streamable-http';

/** A refusal of headers has the status 400 and the error −32020 (2026-07-28, transports: Server Validation). */
function isMismatch(answer: HttpAnswer): Outcome {
  const isRight = answer.status === 400 && codeIn(answer) === McpErrorCode.HeaderMismatch;
  return isRight ? RIGHT : broken(shown(answer), answer.n);
}

/** The subscription that a notification belongs to. */
function subscriptionOf({ params }: JsonObject): unknown {
  const meta: unknown = isObject(params) ? params['_meta'] : undefined;
  return isObject(meta) ? meta[Meta.SubscriptionId] : undefined;
}

/** Subscribes, and reads the first message of the subscription. */
async function listen(ground: Ground, id: string, given?: RawSession): Promise<Reply> {
  const session = given ?? (await ground.session());
  const method = 'subscriptions/listen';
  const params = { notifications: { toolsListChanged: true } };
  if (session instanceof HttpSession) {
    const message = JSON.stringify(requestOf(ground.revision, id, method, params));
    const isEnough = ({ message: seen }: SeenEvent): boolean => seen !== undefined;
    return answered(await session.post(message, { 'mcp-method': method }, { isEnough }));
  }
  const { child } = session as StdioSession;
  child.write(`${JSON.stringify(requestOf(ground.revision, id, method, params))}\n`);
  const first = await child.find(
    (message) => message['id'] === id || subscriptionOf(message) === id,
    ground.patience,
    ground.signal,
  );
  return first ? { messages: [first.message], n: first.n } : { messages: [], n: 0 };
}

async function discover(ground: Ground, headers: HeaderChanges): Promise<HttpAnswer> {
  return answered(await (await ground.httpSession()).call('server/discover', {}, { headers }));
}

/** The requests of 2026-07-28, which stand for themselves. */
export const MODERN_BEHAVIOUR: readonly BehaviourRule[] = [
  {
    id: 'method-header-differs',
    area: 'http',
    severity: 'error',
    clauses: only(`${PAGE} 65,67,68`),
    right: 'The server must answer a request whose `Mcp-Method` differs from its body with status 400 and −32020.',
    over: 'http',
    probe: async (ground) => isMismatch(await discover(ground, { 'mcp-method': 'tools/list' })),
  },
  {
    id: 'method-header-missing',
    area: 'http',
    severity: 'error',
    clauses: only(`${PAGE} 65,67,68`),
    right: 'The server must answer a request without `Mcp-Method` with status 400 and −32020.',
    over: 'http',
    probe: async (ground) => isMismatch(await discover(ground, { 'mcp-method': undefined })),
  },
  {
    id: 'name-header-differs',
    area: 'http',
    severity: 'error',
    clauses: only(`${PAGE} 65,67,68`),
    right: 'The server must answer a request whose `Mcp-Name` differs from its body with status 400 and −32020.',
    over: 'http',
    probe: async (ground) => {
      // None of these exists, so nothing runs even if the header is not checked.
      const requests = { tools: 'tools/call', prompts: 'prompts/get', resources: 'resources/read' } as const;
      const [, method] = Object.entries(requests).find(([capability]) => ground.has(capability)) ?? [];
      if (method === undefined) throw new Skip('the server offers nothing with a name');
      const params =
        method === 'resources/read' ? { uri: 'everwire-check://no-such-resource' } : { name: 'everwire-no-such-name' };
      const session = await ground.httpSession();
      return isMismatch(answered(await session.call(method, params, { headers: { 'mcp-name': 'another-name' } })));
    },
  },
  {
    id: 'version-header-mismatch',
    area: 'http',
    severity: 'error',
    clauses: only(`${PAGE} 24,25`),
    right:
      'The server must answer a request whose `MCP-Protocol-Version` differs from its body with status 400 and an error.',
    over: 'http',
    probe: async (ground) => {
      // Another revision without a handshake does not exist, so the header names one that the server may refuse first.
      const answer = await discover(ground, { 'mcp-protocol-version': '2025-11-25' });
      if (answer.status === 400 && errorIn(answer)) return RIGHT;
      return broken(shown(answer), answer.n);
    },
  },
  {
    id: 'unknown-method-404',
    area: 'http',
    severity: 'error',
    clauses: only(`${PAGE} 27`),
    right: 'The server must answer an unknown method with status 404 and −32601.',
    over: 'http',
    probe: async (ground) => {
      const answer = answered(await (await ground.httpSession()).call('everwire/no-such-method'));
      return answer.status === 404 && codeIn(answer) === ErrorCode.MethodNotFound
        ? RIGHT
        : broken(shown(answer), answer.n);
    },
  },
  {
    id: 'unsupported-revision-400',
    area: 'http',
    severity: 'error',
    clauses: only(`${PAGE} 26`),
    right: 'The server must answer a request of an unsupported revision with status 400.',
    over: 'http',
    probe: async (ground) => {
      const session = await ground.httpSession();
      const changes = { meta: metaOf('1900-01-01'), headers: { 'mcp-protocol-version': '1900-01-01' } };
      const answer = answered(await session.call('server/discover', {}, changes));
      return answer.status === 400 ? RIGHT : broken(shown(answer), answer.n);
    },
  },
  {
    id: 'meta-required-400',
    area: 'http',
    severity: 'error',
    clauses: only('basic/index 52'),
    right: 'The server must answer a request whose `_meta` lacks a required field with status 400.',
    over: 'http',
    probe: async (ground) => {
      const session = await ground.httpSession();
      const { [Meta.ClientCapabilities]: _, ...meta } = metaOf(ground.revision);
      const answer = answered(await session.call('server/discover', {}, { meta }));
      return answer.status === 400 ? RIGHT : broken(shown(answer), answer.n);
    },
  },
  {
    id: 'get-refused',
    area: 'http',
    severity: 'warning',
    clauses: only(`${PAGE} 74`),
    right: 'A server without sessions should answer GET and DELETE with status 405.',
    over: 'http',
    probe: async (ground) => {
      if (ground.spoken.some((each) => profileOf(each)!.era === 'legacy'))
        return skipped('the server also speaks revisions with a handshake');
      const session = await ground.httpSession();
      const got = answered(await session.listen({}, { isEnough: () => true }));
      if (got.status !== 405) return broken(`to GET, ${shown(got)}`, got.n);
      const deleted = answered(await session.peer.ask({ method: 'DELETE', headers: session.headers }));
      return deleted.status === 405 ? RIGHT : broken(`to DELETE, ${shown(deleted)}`, deleted.n);
    },
  },
  {
    id: 'subscription-acknowledged',
    area: 'subscriptions',
    severity: 'error',
    clauses: only('basic/patterns/subscriptions 2'),
    right: 'The first message of a subscription must be its acknowledgement, with the id of the request.',
    probe: async (ground) => {
      const id = 'listen-1';
      const reply = await listen(ground, id);
      if (errorIn(reply))
        return codeIn(reply) === ErrorCode.MethodNotFound
          ? skipped('the server has no subscriptions')
          : broken(shown(reply), reply.n);
      const [first] = reply.messages;
      if (!first) return broken(`to subscriptions/listen, ${shown(reply)}`, reply.n);
      const isRight = first['method'] === 'notifications/subscriptions/acknowledged' && subscriptionOf(first) === id;
      return isRight ? RIGHT : broken(`the first message was ${JSON.stringify(first)}`, reply.n);
    },
  },
  {
    id: 'request-state-verified',
    area: 'questions',
    severity: 'error',
    clauses: only('basic/patterns/mrtr 9'),
    right: 'The server must reject a `requestState` that was changed.',
    probe: async (ground) => {
      const { calls } = ground.offer;
      if (calls.length === 0) return skipped('no call is allowed');
      const session = await ground.session();
      const meta = metaOf(ground.revision, { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} });
      for (const { tool, args, took } of calls) {
        const params = { name: tool, arguments: args };
        const asked = resultIn(await session.call('tools/call', params, { meta, patience: ground.patience + took }));
        const state: unknown = asked?.['requestState'];
        if (asked?.['resultType'] !== 'input_required' || typeof state !== 'string' || state === '') continue;
        const middle = Math.floor(state.length / 2);
        const changed = `${state.slice(0, middle)}${state[middle] === 'A' ? 'B' : 'A'}${state.slice(middle + 1)}`;
        const retried = { ...params, requestState: changed, inputResponses: {} };
        const reply = await session.call('tools/call', retried, { meta, patience: ground.patience + took });
        if (resultIn(reply)) return broken(`to the changed state, ${shown(reply)}`, reply.n);
        return RIGHT;
      }
      return skipped('no allowed call is answered with a question and a state');
    },
  },
  {
    id: 'goes-on-after-subscription',
    area: 'subscriptions',
    severity: 'error',
    clauses: only('basic/patterns/cancellation 16'),
    right: 'The server must keep working after a subscription was cancelled.',
    probe: async (ground) => {
      const session = await ground.session();
      const reply = await listen(ground, 'listen-2', session);
      if (errorIn(reply)) return skipped('the server has no subscriptions');
      if (reply.status === undefined) await session.notify('notifications/cancelled', { requestId: 'listen-2' });
      return goesOn(session, reply);
    },
  },
];
