import { pause } from '../../base/wait.ts';
import { ErrorCode } from '../../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { everywhere, onPage } from '../../lint/clauses.ts';
import { profileOf } from '../../protocol/revisions.ts';
import type { Ground } from '../ground.ts';
import { codeIn, errorIn, resultIn, shown, type Reply } from '../reply.ts';
import { broken, RIGHT, Skip, skipped, type Outcome } from '../outcome.ts';
import type { BehaviourRule } from '../rule.ts';
import { goesOn } from '../session.ts';

/** Names that no server has. */
const NOTHING = 'everwire-no-such-name';
const NOWHERE = 'everwire-check://no-such-resource';

/** A call that takes less may have ended before its cancellation arrives. Milliseconds. */
const MIN_SLOW = 200;

/** Sends a request that needs a capability, and expects an error with this code. */
async function expectCode(
  ground: Ground,
  capability: string,
  method: string,
  params: JsonObject,
  code: number,
): Promise<Outcome> {
  ground.needs(capability);
  const reply = await (await ground.session()).call(method, params);
  return codeIn(reply) === code ? RIGHT : broken(shown(reply), reply.n);
}

/** Tools, resources, prompts, and what belongs to them. */
export const FEATURE_BEHAVIOUR: readonly BehaviourRule[] = [
  {
    id: 'tool-unknown',
    area: 'tools',
    severity: 'advice',
    clauses: everywhere('server/tools'),
    right: 'The server should answer a call of an unknown tool with the error −32602, and not with a result.',
    probe: (ground) =>
      expectCode(ground, 'tools', 'tools/call', { name: NOTHING, arguments: {} }, ErrorCode.InvalidParams),
  },
  {
    id: 'tool-unknown-succeeds',
    area: 'tools',
    severity: 'error',
    clauses: everywhere('server/tools'),
    right: 'A call of an unknown tool must not succeed.',
    probe: async (ground) => {
      ground.needs('tools');
      const reply = await (await ground.session()).call('tools/call', { name: NOTHING, arguments: {} });
      const result = resultIn(reply);
      if (result) return result['isError'] === true ? RIGHT : broken(shown(reply), reply.n);
      return errorIn(reply) ? RIGHT : broken(shown(reply), reply.n);
    },
  },
  {
    id: 'cancelled-call-goes-on',
    area: 'tools',
    severity: 'advice',
    clauses: onPage('basic/utilities/cancellation', ['5', '5', '5', '7']),
    right: 'The server should send no result for a call that was cancelled in time.',
    probe: async (ground) => {
      const { slowest: slow } = ground;
      if (!slow || slow.took < MIN_SLOW) return skipped('no allowed call is slow enough to be cancelled');
      const session = await ground.session();
      const id = 'cancelled-call';
      const patience = slow.took * 2 + MIN_SLOW;
      const called = session.call('tools/call', { name: slow.tool, arguments: slow.args }, { id, patience });
      let hasEnded = false;
      const ended = called.then(() => (hasEnded = true));
      await Promise.race([ended, pause(slow.took / 4, ground.signal)]);
      // Without answers to its questions, for example, a tool may fail at once.
      if (hasEnded) return skipped('the call ended before it could be cancelled');
      await session.notify('notifications/cancelled', { requestId: id, reason: 'a check cancels it' });
      const reply = await called;
      return resultIn(reply) ? broken(`after the cancellation, ${shown(reply)}`, reply.n) : RIGHT;
    },
  },
  {
    id: 'tool-order',
    area: 'tools',
    severity: 'warning',
    clauses: { '2026-07-28': 'server/tools 9' },
    right: 'If the tools stay the same, their order should not change.',
    probe: async (ground) => {
      ground.needs('tools');
      const session = await ground.session();
      const [first, second] = [await session.call('tools/list'), await session.call('tools/list')];
      const [before, after] = [namesIn(first), namesIn(second)];
      if (before.toSorted().join() !== after.toSorted().join()) return skipped('the tools changed meanwhile');
      return before.join() === after.join()
        ? RIGHT
        : broken(`first ${before.join(', ')}, then ${after.join(', ')}`, second.n);
    },
  },
  {
    id: 'resource-missing',
    area: 'resources',
    severity: 'warning',
    clauses: onPage('server/resources', ['5', '5', '6', '6']),
    right: 'The server should answer a request for a resource that does not exist with the error −32002.',
    probe: (ground) =>
      expectCode(ground, 'resources', 'resources/read', { uri: NOWHERE }, profileOf(ground.revision)!.resourceNotFound),
  },
  {
    id: 'resource-missing-modern',
    area: 'resources',
    severity: 'error',
    clauses: { '2026-07-28': 'server/resources 9,12' },
    right: 'The server must answer a request for a resource that does not exist with the error −32602.',
    probe: (ground) => expectCode(ground, 'resources', 'resources/read', { uri: NOWHERE }, ErrorCode.InvalidParams),
  },
  {
    id: 'resource-subscription',
    area: 'resources',
    severity: 'error',
    clauses: onPage('basic/lifecycle', ['14', '15', '15', '15']),
    right:
      'A server that declares `resources.subscribe` must let a client subscribe to its first resource, and unsubscribe.',
    probe: async (ground) => {
      const [first] = ground.offer.resources;
      if (!takesSubscriptions(ground)) return skipped('the server does not declare resources.subscribe');
      if (!first) return skipped('the server lists no resources');
      const session = await ground.session();
      for (const method of ['resources/subscribe', 'resources/unsubscribe']) {
        const reply = await session.call(method, { uri: first['uri'] });
        if (!resultIn(reply)) return broken(`to ${method}, ${shown(reply)}`, reply.n);
      }
      return RIGHT;
    },
  },
  {
    id: 'resource-unsubscribe-unknown',
    area: 'resources',
    severity: 'error',
    clauses: onPage('server/resources', ['', '', '', '']),
    right: 'The server must keep working after a client unsubscribes from a resource without a subscription.',
    probe: async (ground) => {
      if (!takesSubscriptions(ground)) return skipped('the server does not declare resources.subscribe');
      const session = await ground.session();
      const reply = await session.call('resources/unsubscribe', { uri: NOWHERE });
      return goesOn(session, reply, ` (to the tested message: ${shown(reply)})`);
    },
  },
  {
    id: 'resource-subscribe-undeclared',
    area: 'resources',
    severity: 'advice',
    clauses: onPage('server/resources', ['', '', '', '']),
    right: 'A server without `resources.subscribe` should answer a subscription with an error.',
    probe: async (ground) => {
      if (takesSubscriptions(ground)) return skipped('the server declares resources.subscribe');
      const reply = await (await ground.session()).call('resources/subscribe', { uri: NOWHERE });
      return resultIn(reply) ? broken(shown(reply), reply.n) : RIGHT;
    },
  },
  {
    id: 'prompt-unknown',
    area: 'prompts',
    severity: 'warning',
    clauses: onPage('server/prompts', ['5', '6', '8', '8', '9']),
    right: 'The server should answer a request for an unknown prompt with the error −32602.',
    probe: (ground) => expectCode(ground, 'prompts', 'prompts/get', { name: NOTHING }, ErrorCode.InvalidParams),
  },
  {
    id: 'prompt-argument-missing',
    area: 'prompts',
    severity: 'warning',
    clauses: onPage('server/prompts', ['6', '7', '9', '9', '10']),
    right: 'The server should answer a prompt without a required argument with the error −32602.',
    probe: (ground) => {
      const prompt = ground.offer.prompts.find(({ arguments: given }) =>
        (Array.isArray(given) ? given : []).some((each: unknown) => isObject(each) && each['required'] === true),
      );
      if (!prompt) throw new Skip('no prompt requires an argument');
      return expectCode(ground, 'prompts', 'prompts/get', { name: prompt['name'] }, ErrorCode.InvalidParams);
    },
  },
  {
    id: 'cursor-invalid',
    area: 'utilities',
    severity: 'warning',
    clauses: onPage('server/utilities/pagination', ['9', '9', '9', '9', '10']),
    right: 'The server should answer an invalid cursor with the error −32602.',
    probe: (ground) => {
      const [capability] = ground.lists;
      if (capability === undefined) throw new Skip('the server has no lists');
      return expectCode(ground, capability, `${capability}/list`, { cursor: NOTHING }, ErrorCode.InvalidParams);
    },
  },
  {
    id: 'completion-undeclared',
    area: 'utilities',
    severity: 'warning',
    clauses: onPage('server/utilities/completion', [undefined, '2', '2', '2', '3']),
    right: 'A server without the capability `completions` should answer a completion with the error −32601.',
    probe: async (ground) => {
      if (ground.has('completions')) return skipped('the server declares completions');
      const ref = { type: 'ref/prompt', name: NOTHING };
      const reply = await (
        await ground.session()
      ).call('completion/complete', { ref, argument: { name: 'a', value: '' } });
      return codeIn(reply) === ErrorCode.MethodNotFound ? RIGHT : broken(shown(reply), reply.n);
    },
  },
  {
    id: 'log-level-unknown',
    area: 'utilities',
    severity: 'warning',
    clauses: onPage('server/utilities/logging', ['2', '2', '2', '2']),
    right: 'The server should answer an unknown log level with the error −32602.',
    probe: (ground) =>
      expectCode(ground, 'logging', 'logging/setLevel', { level: 'deafening' }, ErrorCode.InvalidParams),
  },
];

function takesSubscriptions({ offer }: Ground): boolean {
  const declared: unknown = offer.capabilities['resources'];
  return isObject(declared) && declared['subscribe'] === true;
}

function namesIn(reply: Reply): string[] {
  const tools: unknown = resultIn(reply)?.['tools'];
  return Array.isArray(tools) ? tools.map((each: unknown) => (isObject(each) ? String(each['name']) : '')) : [];
}
