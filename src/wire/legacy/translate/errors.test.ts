import { expect, test } from 'vitest';
import { RpcError } from '../../../jsonrpc/errors.ts';
import { LEGACY_REVISIONS, REVISIONS } from '../../../protocol/revisions.ts';
import { toLegacyError } from './errors.ts';

const uri = 'a://1';
const read = { method: 'resources/read', params: { uri } };
const missing = new RpcError(-32602, 'Resource not found', { data: { uri } });

test.each(LEGACY_REVISIONS)('in %s, a missing resource has its own error code', (revision) => {
  const error = toLegacyError(missing, REVISIONS[revision], read);
  expect(error.toObject()).toEqual({ code: -32002, message: 'Resource not found', data: { uri } });
});

test.each([
  ['names no resource', new RpcError(-32602, 'No URI'), read],
  ['names another resource', new RpcError(-32602, 'Resource not found', { data: { uri: 'a://2' } }), read],
  ['answers another request', missing, { method: 'tools/call', params: { name: 'x', uri } }],
])('invalid params keep their code if the error %s', (_, error, request) => {
  expect(toLegacyError(error, REVISIONS['2025-11-25'], request).code).toBe(-32602);
});
