import { describe, expect, test } from 'vitest';
import type { JsonObject, Request } from '../../../jsonrpc/message.ts';
import { encodeHeaderValue } from '../../../protocol/header-value.ts';
import { checkHeaders } from './headers.ts';

function check(headers: Record<string, string | undefined>, method: string, params?: JsonObject): void {
  const request: Request = { jsonrpc: '2.0', id: 1, method, ...(params && { params }) };
  checkHeaders((name) => headers[name], request);
}

const mismatch = expect.objectContaining({ code: -32020 });

describe('Mcp-Method', () => {
  test('must be the method of the body', () => {
    expect(() => check({ 'mcp-method': 'tools/list' }, 'tools/list')).not.toThrow();
    for (const value of [undefined, '', 'tools/call', 'TOOLS/LIST', 'tools/list, tools/list', 'tools/list ']) {
      const headers: Record<string, string> = value === undefined ? {} : { 'mcp-method': value };
      expect(() => check(headers, 'tools/list')).toThrow(mismatch);
    }
  });

  test('is not decoded, because no method needs it', () => {
    const encoded = `=?base64?${Buffer.from('tools/list').toString('base64')}?=`;
    expect(() => check({ 'mcp-method': encoded }, 'tools/list')).toThrow(mismatch);
  });
});

describe('Mcp-Name', () => {
  test.each([
    ['tools/call', 'name'],
    ['prompts/get', 'name'],
    ['resources/read', 'uri'],
    ['tasks/get', 'taskId'],
    ['tasks/update', 'taskId'],
    ['tasks/cancel', 'taskId'],
  ])('of %s is params.%s', (method, key) => {
    const params = { [key]: 'x', other: 'y' };
    expect(() => check({ 'mcp-method': method, 'mcp-name': 'x' }, method, params)).not.toThrow();
    for (const headers of [{}, { 'mcp-name': 'y' }, { 'mcp-name': '' }, { 'mcp-name': 'X' }, { 'mcp-name': 'x, x' }]) {
      expect(() => check({ 'mcp-method': method, ...headers }, method, params)).toThrow(mismatch);
    }
  });

  test.each(['tools/list', 'server/discover', 'completion/complete', '__proto__', 'constructor'])(
    'is required for %s',
    (method) => {
      expect(() => check({ 'mcp-method': method, 'mcp-name': 'whatever' }, method, { name: 'x' })).not.toThrow();
    },
  );

  test.each(['größe', '世界', ' padded ', 'a\nb', '=?base64?eA==?=', '=?base64??=', '', 'a, b', 'plain'])(
    'can carry %j',
    (name) => {
      const headers = { 'mcp-method': 'tools/call', 'mcp-name': encodeHeaderValue(name) };
      expect(() => check(headers, 'tools/call', { name })).not.toThrow();
      expect(() => check(headers, 'tools/call', { name: `${name}.` })).toThrow(mismatch);
    },
  );

  test.each([
    ['characters that are not Base64', '=?base64?@@@@?='],
    ['missing padding', '=?base64?eA?='],
    ['bits after the last byte', '=?base64?eB==?='],
    ['the URL alphabet', '=?base64?-_8=?='],
    ['bytes that are not UTF-8', '=?base64?/w==?='],
    ['characters that are not allowed in headers', 'gr\u00f6\u00dfe'],
  ])('with %s is malformed', (_, value) => {
    const headers = { 'mcp-method': 'tools/call', 'mcp-name': value };
    expect(() => check(headers, 'tools/call', { name: 'x' })).toThrow(/malformed/);
  });

  test('with markers in another case is read literally', () => {
    const value = '=?BASE64?eA==?=';
    const headers = { 'mcp-method': 'tools/call', 'mcp-name': value };
    expect(() => check(headers, 'tools/call', { name: value })).not.toThrow();
    expect(() => check(headers, 'tools/call', { name: 'x' })).toThrow(mismatch);
  });

  test.each([undefined, {}, { name: 5 }, { name: null }])('is not checked if the params are %j', (params) => {
    expect(() => check({ 'mcp-method': 'tools/call' }, 'tools/call', params)).not.toThrow();
  });
});
