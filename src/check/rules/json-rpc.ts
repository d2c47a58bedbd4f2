import { ErrorCode } from '../../jsonrpc/errors.ts';
import { clauses, everywhere, onPage } from '../../lint/clauses.ts';
import type { Clauses } from '../../lint/rule.ts';
import { codeIn, errorIn, resultIn, shown, type Reply } from '../reply.ts';
import { broken, RIGHT, Skip, skipped, type Outcome } from '../outcome.ts';
import type { BehaviourRule } from '../rule.ts';
import { goesOn, heartbeatOf, requestOf, type RawSession } from '../session.ts';

/** JSON-RPC 2.0 holds in each revision. */
const JSON_RPC: Clauses = clauses(
  'basic/messages 1',
  'basic/index 2',
  'basic/index 2',
  'basic/index 2',
  'basic/index 2',
);
/** The schema of each revision says what a message looks like. */
const SHAPE: Clauses = everywhere('schema');
const UNKNOWN = 'everwire/no-such-method';

/** Whether the server goes on after something that it need not understand. */
async function goesOnAfter(session: RawSession, text: string): Promise<Outcome> {
  const reply = await session.say(text);
  return goesOn(session, reply, ` (to the tested message: ${shown(reply)})`);
}

export const JSON_RPC_BEHAVIOUR: readonly BehaviourRule[] = [
  {
    id: 'unknown-method',
    area: 'json-rpc',
    severity: 'error',
    clauses: JSON_RPC,
    right: 'The server must answer a request with an unknown method with an error.',
    probe: async (ground) => {
      const session = await ground.session();
      const reply = await session.call(UNKNOWN);
      if (errorIn(reply)) return RIGHT;
      return broken(shown(reply), reply.n);
    },
  },
  {
    id: 'unknown-method-code',
    area: 'json-rpc',
    severity: 'warning',
    clauses: JSON_RPC,
    right: 'The error for an unknown method should be −32601 (JSON-RPC 2.0, section 5.1).',
    probe: async (ground) => {
      const reply = await (await ground.session()).call(UNKNOWN);
      const code = codeIn(reply);
      if (code === undefined) return skipped('there was no error');
      return code === ErrorCode.MethodNotFound ? RIGHT : broken(shown(reply), reply.n);
    },
  },
  {
    id: 'wrong-params',
    area: 'json-rpc',
    severity: 'error',
    clauses: SHAPE,
    right: 'The server must answer a request whose params have wrong types with an error.',
    probe: async (ground) => {
      const session = await ground.session();
      const [method, params] = wrongRequest(ground.offer.capabilities);
      const reply = await session.call(method, params);
      // A tool may report it as its own error.
      if (resultIn(reply)?.['isError'] === true) return RIGHT;
      return errorIn(reply) || (reply.status ?? 0) >= 400 ? RIGHT : broken(`to ${method}, ${shown(reply)}`, reply.n);
    },
  },
  {
    id: 'wrong-params-code',
    area: 'json-rpc',
    severity: 'advice',
    clauses: JSON_RPC,
    right: 'The error for params with wrong types should be −32602 (JSON-RPC 2.0, section 5.1).',
    probe: async (ground) => {
      const session = await ground.session();
      const [method, params] = wrongRequest(ground.offer.capabilities);
      const reply = await session.call(method, params);
      const code = codeIn(reply);
      if (code === undefined) return skipped('there was no error');
      return code === ErrorCode.InvalidParams ? RIGHT : broken(`to ${method}, ${shown(reply)}`, reply.n);
    },
  },
  {
    id: 'not-json',
    area: 'json-rpc',
    severity: 'error',
    clauses: JSON_RPC,
    right: 'The server must keep working after a message that is not JSON.',
    probe: async (ground) => goesOnAfter(await ground.session(), '{"jsonrpc": "2.0", "id": 1, "method": '),
  },
  {
    id: 'json-rpc-version-wrong',
    area: 'json-rpc',
    severity: 'advice',
    clauses: JSON_RPC,
    right: 'The server should refuse a request with another `jsonrpc` than "2.0".',
    probe: async (ground) => {
      const session = await ground.session();
      const { revision } = ground;
      const request = { ...requestOf(revision, 'version', heartbeatOf(revision)), jsonrpc: '1.0' };
      const reply = await session.say(JSON.stringify(request));
      return resultIn(reply) ? broken(shown(reply), reply.n) : RIGHT;
    },
  },
  {
    id: 'request-id-null-refused',
    area: 'json-rpc',
    severity: 'advice',
    clauses: clauses('basic/messages 3', 'basic/index 4', 'basic/index 4', 'basic/index 4', 'basic/index 4'),
    right: 'The server should refuse a request whose id is null.',
    probe: async (ground) => {
      const session = await ground.session();
      const { revision } = ground;
      const request = { ...requestOf(revision, 0, heartbeatOf(revision)), id: null };
      const reply = await session.say(JSON.stringify(request));
      return resultIn(reply) ? broken(shown(reply), reply.n) : RIGHT;
    },
  },
  {
    id: 'notification-unknown',
    area: 'json-rpc',
    severity: 'error',
    clauses: clauses('basic/messages 9', 'basic/index 11', 'basic/index 11', 'basic/index 11', 'basic/index 23'),
    right: 'The server must not answer a notification, even if its method is unknown.',
    probe: async (ground) => {
      const session = await ground.session();
      const reply = await session.notify('notifications/everwire/no-such');
      // Over HTTP, a refusal has a status and may have an error without an id.
      const answers = reply.messages.filter((each) => each['method'] === undefined && (each['id'] ?? null) !== null);
      if (answers.length > 0) return broken(shown(reply), reply.n);
      return goesOn(session, reply);
    },
  },
  {
    id: 'response-to-nothing',
    area: 'json-rpc',
    severity: 'error',
    clauses: clauses('basic/messages 5', 'basic/index 6', 'basic/index 6', 'basic/index 6'),
    right: 'The server must ignore a response to a request that it never sent, and keep working.',
    probe: async (ground) => {
      const session = await ground.session();
      const reply = await session.say(JSON.stringify({ jsonrpc: '2.0', id: 'no-such-request', result: {} }));
      if (resultIn(reply)) return broken(shown(reply), reply.n);
      return goesOn(session, reply);
    },
  },
  {
    id: 'cancelled-unknown-ignored',
    area: 'json-rpc',
    severity: 'warning',
    clauses: onPage('basic/utilities/cancellation', ['10', '10', '10', '12'], 'basic/patterns/cancellation 19'),
    right: 'The server should ignore a cancellation of an unknown request.',
    probe: async (ground) => {
      const session = await ground.session();
      const reply = await session.notify('notifications/cancelled', { requestId: 'no-such-request' });
      const answers = reply.messages.filter((each) => each['method'] === undefined);
      // From 2026-07-28 on, nothing says that a server takes notifications over HTTP.
      if (answers.length > 0 && reply.status === undefined) return broken(shown(reply), reply.n);
      return goesOn(session, reply);
    },
  },
  {
    id: 'batch-received',
    area: 'json-rpc',
    severity: 'error',
    clauses: clauses(undefined, 'basic/index 13'),
    right: 'In 2025-03-26, the server must receive a batch, and answer each of its requests.',
    inEach: true,
    probe: async (ground) => {
      const reply = await (await ground.session()).say(pingBatch(), 2);
      const answered = new Set<unknown>(reply.messages.filter((each) => 'result' in each).map((each) => each['id']));
      const missing = ['batch-1', 'batch-2'].filter((id) => !answered.has(id));
      return missing.length === 0 ? RIGHT : broken(`a batch of two pings: ${batchText(reply, missing)}`, reply.n);
    },
  },
  {
    id: 'batch-refused',
    area: 'json-rpc',
    severity: 'warning',
    clauses: onPage('basic/transports', [undefined, undefined, '13', '15']),
    right: 'The server should refuse a batch: since 2025-06-18, each message is sent on its own.',
    inEach: true,
    probe: async (ground) => {
      const reply = await (await ground.session()).say(pingBatch(), 2);
      const done = reply.messages.filter((each) => 'result' in each);
      return done.length === 0 ? RIGHT : broken(`to a batch of two pings, ${shown(reply)}`, reply.n);
    },
  },
  {
    id: 'batch-refused-modern',
    area: 'json-rpc',
    severity: 'warning',
    clauses: { '2026-07-28': 'basic/transports/streamable-http 10' },
    right: 'The server should refuse a batch: the body of a POST is one message.',
    over: 'http',
    probe: async (ground) => {
      const session = await ground.httpSession();
      const method = heartbeatOf(ground.revision);
      const batch = [requestOf(ground.revision, 'batch-1', method)];
      const answer = await session.post(JSON.stringify(batch), { 'mcp-method': method });
      return resultIn(answer) ? broken(`to a batch of one request, ${shown(answer)}`, answer.n) : RIGHT;
    },
  },
];

function pingBatch(): string {
  return JSON.stringify(['batch-1', 'batch-2'].map((id) => ({ jsonrpc: '2.0', id, method: 'ping' })));
}

function batchText(reply: Reply, missing: readonly string[]): string {
  const got = shown(reply);
  return missing.length === 2 || reply.messages.length === 0 ? got : `only one was answered; ${got}`;
}

/** A request with wrong types that does nothing even if it is accepted. @throws Skip */
function wrongRequest(capabilities: Readonly<Record<string, unknown>>): [method: string, params: object] {
  if (capabilities['prompts'] !== undefined) return ['prompts/get', { name: 42 }];
  if (capabilities['resources'] !== undefined) return ['resources/read', { uri: 42 }];
  if (capabilities['tools'] !== undefined) return ['tools/call', { name: 42 }];
  throw new Skip('the server offers nothing that takes params');
}
