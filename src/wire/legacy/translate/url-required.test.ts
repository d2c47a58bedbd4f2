import { expect, test } from 'vitest';
import { RpcError } from '../../../jsonrpc/errors.ts';
import type { JsonObject } from '../../../jsonrpc/message.ts';
import { McpErrorCode } from '../../../protocol/errors.ts';
import { withoutUrlAnswers, urlQuestionsOf } from './url-required.ts';

const visited = { 'visit-1': { action: 'accept' } };

function refused(run: () => unknown): RpcError {
  try {
    run();
  } catch (error) {
    return error as RpcError;
  }
  throw new Error('It was not refused');
}

test('the client’s answers to required URLs are not sent to the server', () => {
  expect(withoutUrlAnswers('tools/call', { name: 't', inputResponses: visited })).toEqual({ name: 't' });
  expect(withoutUrlAnswers('tools/call', { name: 't' })).toEqual({ name: 't' });
});

test('a URL that was declined does not count as completed', () => {
  const inputResponses = { ...visited, 'visit-2': { action: 'decline' } };
  expect(refused(() => withoutUrlAnswers('tools/call', { inputResponses })).code).toBe(-32600);
});

test.each<[string, JsonObject]>([
  ['alone', {}],
  ['with the answers of opened URLs', { inputResponses: visited }],
])('a requestState is refused for a call with required URLs, so that it does not run twice: %s', (_, params) => {
  const error = refused(() => withoutUrlAnswers('tools/call', { name: 't', requestState: 'ew1.changed', ...params }));
  expect(error.code).toBe(-32602);
  expect(error.message).toContain('call again without it');
});

test('an error with URLs becomes one question for each URL, and any other error stays an error', () => {
  const data = { elicitations: [{ mode: 'url', elicitationId: '1', url: 'https://a.example/', message: 'Log in' }] };
  const code = McpErrorCode.UrlElicitationRequired;
  expect(urlQuestionsOf(new RpcError(code, 'First', { data }), 'tools/call')).toEqual({
    resultType: 'input_required',
    inputRequests: {
      'visit-1': {
        method: 'elicitation/create',
        params: { mode: 'url', url: 'https://a.example/', message: 'Log in' },
      },
    },
  });
  for (const error of [new RpcError(code, 'First', { data: { elicitations: [] } }), new RpcError(-32603, 'x')])
    expect(refused(() => urlQuestionsOf(error, 'tools/call'))).toBe(error);
});

test('a long message is not repeated whole for each URL', () => {
  const elicitations = Array.from({ length: 100 }, (_, n) => ({ url: `https://a.example/${n}` }));
  const error = new RpcError(McpErrorCode.UrlElicitationRequired, 'm'.repeat(100_000), { data: { elicitations } });
  expect(JSON.stringify(urlQuestionsOf(error, 'tools/call')).length).toBeLessThan(200_000);
});

test('an error with very many URLs does not become as many questions', () => {
  const errorWith = (count: number): RpcError => {
    const elicitations = Array.from({ length: count }, (_, index) => ({ url: `https://a.example/${index}` }));
    return new RpcError(McpErrorCode.UrlElicitationRequired, 'First', { data: { elicitations } });
  };
  expect(Object.keys(urlQuestionsOf(errorWith(1000), 'tools/call')['inputRequests'])).toHaveLength(1000);
  const { code, message } = refused(() => urlQuestionsOf(errorWith(1001), 'tools/call'));
  expect([code, message]).toEqual([-32603, expect.stringContaining('tools/call asked 1001 questions at once')]);
});
