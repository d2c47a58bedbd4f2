import { everywhere } from '../clauses.ts';
import { otherSide } from '../model/requests.ts';
import { onEvent, type WireRule } from '../rule.ts';

/** The JSON Schema of the revision. */
export const SCHEMA_RULES: readonly WireRule[] = [
  onEvent('message', {
    id: 'schema-request',
    area: 'schema',
    severity: 'error',
    clauses: everywhere('schema'),
    right: 'A request matches the JSON Schema of the revision.',
    check: ({ kind, schema, message, method, from }) =>
      kind === 'request' && schema?.defines(method, from) ? (schema.checkCall(message, from) ?? true) : undefined,
  }),
  onEvent('message', {
    id: 'schema-notification',
    area: 'schema',
    severity: 'error',
    clauses: everywhere('schema'),
    right: 'A notification matches the JSON Schema of the revision.',
    check: ({ kind, schema, message, method, from }) =>
      kind === 'notification' && schema?.defines(method, from) ? (schema.checkCall(message, from) ?? true) : undefined,
  }),
  onEvent('message', {
    id: 'schema-result',
    area: 'schema',
    severity: 'error',
    clauses: everywhere('schema'),
    right: 'A result matches the JSON Schema of the revision.',
    check: ({ kind, schema, result, from, about }) =>
      kind === 'result' && schema && about ? (schema.checkResult(result, about, otherSide(from)) ?? true) : undefined,
  }),
  onEvent('message', {
    id: 'schema-error',
    area: 'schema',
    severity: 'error',
    clauses: everywhere('schema'),
    right: 'The data of an error matches the JSON Schema of the revision.',
    check: ({ kind, schema, message }) =>
      kind === 'error' && schema ? (schema.checkError(message) ?? true) : undefined,
  }),
];
