import { isObject, isRequestId } from '../../jsonrpc/message.ts';
import { clauses, everywhere } from '../clauses.ts';
import { isBroadcast } from '../model/broadcast.ts';
import { onEvent, type WireRule } from '../rule.ts';
import { shown } from './shown.ts';

/** JSON-RPC 2.0, and what MCP narrows in it. */
export const JSON_RPC_RULES: readonly WireRule[] = [
  onEvent('malformed', {
    id: 'message-utf8',
    area: 'json-rpc',
    severity: 'error',
    clauses: clauses(
      'basic/messages 1',
      'basic/transports 1',
      'basic/transports 1',
      'basic/transports 1',
      'basic/transports/index 1',
    ),
    right: 'A message is UTF-8.',
    check: ({ problem, text }) => (problem === 'not UTF-8' ? text : undefined),
  }),
  onEvent('malformed', {
    id: 'message-json',
    area: 'json-rpc',
    severity: 'error',
    clauses: clauses('basic/messages 1', 'basic/index 2', 'basic/index 2', 'basic/index 2', 'basic/index 2'),
    right: 'A message is valid JSON.',
    check: ({ problem, text }) => (problem === 'not JSON' ? text : undefined),
  }),
  onEvent('message', {
    id: 'json-rpc-version',
    area: 'json-rpc',
    severity: 'error',
    clauses: clauses('basic/messages 1', 'basic/index 2', 'basic/index 2', 'basic/index 2', 'basic/index 2'),
    right: 'A message has `"jsonrpc": "2.0"`.',
    inSchema: true,
    check: ({ message }) => message['jsonrpc'] === '2.0' || `"jsonrpc" is ${shown(message['jsonrpc'])}`,
  }),
  onEvent('message', {
    id: 'request-id-null',
    area: 'json-rpc',
    severity: 'error',
    clauses: clauses('basic/messages 3', 'basic/index 4', 'basic/index 4', 'basic/index 4', 'basic/index 4'),
    right: 'The id of a request is not null.',
    inSchema: true,
    check: ({ kind, message, method }) =>
      kind === 'request' ? message['id'] !== null || `${method} with the id null` : undefined,
  }),
  onEvent('message', {
    id: 'request-id-type',
    area: 'json-rpc',
    severity: 'error',
    clauses: clauses('basic/messages 2', 'basic/index 3', 'basic/index 3', 'basic/index 3', 'basic/index 3'),
    right: 'The id of a request is a string or an integer.',
    inSchema: true,
    check: ({ kind, message: { id } }) => {
      if (kind !== 'request' || id === null) return undefined;
      return typeof id === 'string' || Number.isInteger(id) || `the id ${shown(id)}`;
    },
  }),
  onEvent('message', {
    id: 'request-id-precise',
    area: 'json-rpc',
    severity: 'advice',
    clauses: everywhere('basic'),
    right: 'An id that is a number is below 2^53, because most programs round larger ones.',
    check: ({ kind, message: { id } }) =>
      kind === 'request' && Number.isInteger(id) ? isRequestId(id) || `the id ${shown(id)}` : undefined,
  }),
  onEvent('message', {
    id: 'request-id-reused',
    area: 'json-rpc',
    severity: 'error',
    clauses: clauses('basic/messages 4', 'basic/index 5', 'basic/index 5', 'basic/index 5'),
    right: 'A sender uses each request id once in a session.',
    check: ({ kind, sameId, message, conversation, carriage, exchange }) => {
      if (kind !== 'request' || conversation.isShared) return undefined;
      if (carriage === 'http' && isBroadcast(sameId, exchange, message)) return undefined;
      return sameId === undefined || `the id ${shown(message['id'])} was used in record ${sameId.n}`;
    },
  }),
  onEvent('message', {
    id: 'request-id-in-use',
    area: 'json-rpc',
    severity: 'error',
    clauses: { '2026-07-28': 'basic/index 5' },
    right: 'A request does not use the id of another one that is still in progress.',
    check: ({ kind, sameId, message, conversation }) => {
      if (kind !== 'request' || conversation.isShared) return undefined;
      const isOpen = sameId !== undefined && sameId.answered === undefined && sameId.cancelled === undefined;
      return !isOpen || `the id ${shown(message['id'])} is in use since record ${sameId.n}`;
    },
  }),
  onEvent('message', {
    id: 'response-id-unknown',
    area: 'json-rpc',
    severity: 'error',
    clauses: clauses('basic/messages 5', 'basic/index 6', 'basic/index 6', 'basic/index 6,8', 'basic/index 6,12'),
    right: 'A response has the id of a request of the other side.',
    check: ({ kind, about, knowsAll, message: { id } }) => {
      if (kind !== 'result' && kind !== 'error') return undefined;
      // An error may have no id, because it could not be read.
      if (kind === 'error' && (id === undefined || id === null)) return undefined;
      if (about) return true;
      return knowsAll ? `a response with the id ${shown(id)}, which no request had` : undefined;
    },
  }),
  onEvent('message', {
    id: 'response-twice',
    area: 'json-rpc',
    severity: 'error',
    clauses: clauses('basic/messages 5', 'basic/index 6', 'basic/index 6', 'basic/index 6', 'basic/index 6'),
    right: 'A request has one response.',
    check: ({ kind, about, before, exchange, message }) => {
      if ((kind !== 'result' && kind !== 'error') || !about || exchange?.resumes) return undefined;
      return (
        before!.answered === undefined || `the id ${shown(message['id'])} was answered in record ${before!.answered}`
      );
    },
  }),
  onEvent('message', {
    id: 'response-result-and-error',
    area: 'json-rpc',
    severity: 'error',
    clauses: clauses('basic/messages 7', 'basic/index 8', 'basic/index 8', 'basic/index 7,9', 'basic/index 7,13'),
    right: 'A response has a result or an error, and not both.',
    inSchema: true,
    check: ({ kind, message }) => {
      if (kind !== 'result' && kind !== 'error') return undefined;
      return !('result' in message && 'error' in message) || 'a response with both';
    },
  }),
  onEvent('message', {
    id: 'result-object',
    area: 'json-rpc',
    severity: 'error',
    clauses: clauses('basic/messages 6', 'basic/index 7', 'basic/index 7', 'basic/index 7', 'basic/index 7'),
    right: 'A result is an object.',
    inSchema: true,
    check: ({ kind, message: { result } }) =>
      kind === 'result' ? isObject(result) || `a result that is ${shown(result)}` : undefined,
  }),
  onEvent('message', {
    id: 'error-shape',
    area: 'json-rpc',
    severity: 'error',
    clauses: clauses('basic/messages 6', 'basic/index 9', 'basic/index 9', 'basic/index 9', 'basic/index 13'),
    right: 'An error has a `code` and a `message`.',
    inSchema: true,
    check: ({ kind, message: { error } }) => {
      if (kind !== 'error') return undefined;
      const isRight = isObject(error) && error['code'] !== undefined && typeof error['message'] === 'string';
      return isRight || `the error ${shown(error)}`;
    },
  }),
  onEvent('message', {
    id: 'error-code-integer',
    area: 'json-rpc',
    severity: 'error',
    clauses: clauses('basic/messages 8', 'basic/index 10', 'basic/index 10', 'basic/index 10', 'basic/index 14'),
    right: 'The code of an error is an integer.',
    inSchema: true,
    check: ({ kind, error: { code } }) =>
      kind === 'error' && code !== undefined ? Number.isInteger(code) || `the code ${shown(code)}` : undefined,
  }),
  onEvent('message', {
    id: 'error-id-null',
    area: 'json-rpc',
    severity: 'advice',
    clauses: clauses(undefined, undefined, undefined, 'schema', 'schema'),
    right: 'An error response whose request had no readable id has no `id`.',
    inSchema: true,
    check: ({ kind, message }) => (kind === 'error' ? message['id'] !== null || '"id": null' : undefined),
  }),
  onEvent('message', {
    id: 'notification-id',
    area: 'json-rpc',
    severity: 'error',
    clauses: clauses('basic/messages 9', 'basic/index 12', 'basic/index 12', 'basic/index 12', 'basic/index 24'),
    right: 'A notification has no id.',
    check: ({ kind, method, message }) => {
      if (kind === 'notification') return true;
      return kind === 'request' && method.startsWith('notifications/')
        ? `${method} with the id ${shown(message['id'])}`
        : undefined;
    },
  }),
  onEvent('batch', {
    id: 'batch-forbidden',
    area: 'json-rpc',
    severity: 'error',
    clauses: clauses(
      'basic/messages',
      undefined,
      'basic/transports 10,13',
      'basic/transports 12,15',
      'basic/transports/streamable-http 6,10',
    ),
    right: 'Each message is sent on its own. Only 2025-03-26 has batches.',
    check: ({ messages }) => `a batch of ${messages.length} messages`,
  }),
  onEvent('batch', {
    id: 'batch-empty',
    area: 'json-rpc',
    severity: 'error',
    clauses: clauses(undefined, 'basic/transports 13'),
    right: 'A batch has at least one message (JSON-RPC 2.0, section 6).',
    check: ({ messages }) => messages.length > 0 || 'an empty batch',
  }),
  onEvent('batch', {
    id: 'batch-mixed',
    area: 'json-rpc',
    severity: 'error',
    clauses: clauses(undefined, 'basic/transports 13'),
    right: 'A batch that a client sends over HTTP does not mix responses with requests or notifications.',
    check: ({ messages, exchange, from }) => {
      if (!exchange || from !== 'client') return undefined;
      const calls = messages.filter((each) => isObject(each) && each['method'] !== undefined).length;
      return calls === 0 || calls === messages.length || 'a batch with responses and other messages';
    },
  }),
];
