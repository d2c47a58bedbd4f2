import { describe, expect, test } from 'vitest';
import { constant, isConstant } from '../../../jsonrpc/stringify.ts';
import { ResultShaper } from './results.ts';

const serverInfo = { name: 'test', version: '1' };
const INFO = 'io.modelcontextprotocol/serverInfo';
const shaper = new ResultShaper({ serverInfo, supportedVersions: ['2026-07-28'] });
const anonymous = new ResultShaper({ serverInfo: undefined, supportedVersions: ['2026-07-28'] });

describe('a result', () => {
  test('is complete unless it has another resultType', () => {
    expect(anonymous.shape({ content: [] }, 'tools/call')).toEqual({ resultType: 'complete', content: [] });
    expect(anonymous.shape({ resultType: 'task' }, 'tools/call')).toEqual({ resultType: 'task' });
  });

  test('contains the server’s identity, beside other _meta', () => {
    expect(shaper.shape({}, 'x')).toEqual({ resultType: 'complete', _meta: { [INFO]: serverInfo } });
    expect(shaper.shape({ _meta: { a: 1 } }, 'x')['_meta']).toEqual({ a: 1, [INFO]: serverInfo });
  });

  test('of a server behind this one keeps that server’s identity', () => {
    const other = { name: 'other', version: '2' };
    expect(shaper.shape({ _meta: { [INFO]: other } }, 'x')['_meta']).toEqual({ [INFO]: other });
    expect(anonymous.shape({ _meta: { [INFO]: other } }, 'x')['_meta']).toEqual({ [INFO]: other });
  });

  test('is shaped without changing the original', () => {
    const result = Object.freeze({ _meta: Object.freeze({ a: 1 }), tools: [] });
    shaper.shape(result, 'tools/list');
    expect(result).toEqual({ _meta: { a: 1 }, tools: [] });
  });
});

describe('the cache hints of a result', () => {
  test.each([
    'server/discover',
    'tools/list',
    'prompts/list',
    'resources/list',
    'resources/templates/list',
    'resources/read',
  ])('are added to %s', (method) => {
    expect(anonymous.shape({}, method)).toMatchObject({ ttlMs: 0, cacheScope: 'private' });
    const hinted = { ttlMs: 5, cacheScope: 'public' };
    expect(anonymous.shape(hinted, method)).toMatchObject(hinted);
    expect(anonymous.shape({ ttlMs: 5 }, method)).toMatchObject({ ttlMs: 5, cacheScope: 'private' });
  });

  test.each(['tools/call', 'prompts/get', 'completion/complete', 'subscriptions/listen', 'tasks/get', 'x/y'])(
    'are not added to %s',
    (method) => {
      expect(anonymous.shape({}, method)).toEqual({ resultType: 'complete' });
    },
  );

  test('are not added to questions', () => {
    const asking = { resultType: 'input_required', requestState: 'x' };
    expect(anonymous.shape(asking, 'resources/read')).toEqual(asking);
  });
});

test('supportedVersions are always those of this server', () => {
  expect(anonymous.shape({ supportedVersions: ['1999-01-01'] }, 'server/discover')).toMatchObject({
    supportedVersions: ['2026-07-28'],
  });
});

test('a constant result is shaped once, and the shaped result is constant too', () => {
  const result = constant({ tools: [] });
  const made = shaper.shape(result, 'tools/list');
  expect(made).toMatchObject({ resultType: 'complete', tools: [], ttlMs: 0 });
  expect(shaper.shape(result, 'tools/list')).toBe(made);
  expect(isConstant(made)).toBe(true);
  const other = { tools: [] };
  expect(shaper.shape(other, 'tools/list')).not.toBe(shaper.shape(other, 'tools/list'));
});
