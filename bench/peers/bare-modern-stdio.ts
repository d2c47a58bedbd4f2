import { answer } from './bare-answer.ts';
import { answerLines } from './bare-lines.ts';

/** Like `bare-stdio`, but only for 2026-07-28. */

const described = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, ttlMs: 0, cacheScope: 'private' };

answerLines((message: any) => {
  const { id, method } = message;
  if (method === 'server/discover') return { jsonrpc: '2.0', id, result: { resultType: 'complete', ...described } };
  if (method !== 'initialize') return answer(message);
  const data = { supported: described.supportedVersions, requested: message.params.protocolVersion };
  return { jsonrpc: '2.0', id, error: { code: -32022, message: 'Unsupported protocol version', data } };
});
