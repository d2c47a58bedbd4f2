import { expect, test } from 'vitest';
import { TestExchange } from '../../test/support/exchange.ts';
import { scrubber } from '../auth/scrub.ts';
import { compose } from '../core/exchange.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { cleanErrors } from './clean-errors.ts';

test('a large tool error costs little, even if there are many secrets', async () => {
  const secrets = Array.from({ length: 100 }, (_, id) => `s3cr3t/"${id}-0123456789é<abc`);
  const structuredContent = { list: Array.from({ length: 190_000 }, (_, id) => `x${id % 10}`), key: secrets[7] };
  const texts = Array.from({ length: 20_000 }, (_, id) => ({ type: 'text', text: `the text number ${id}` }));
  const service = async (): Promise<JsonObject> => ({ content: texts, structuredContent, isError: true });
  const cleaned = compose(service, cleanErrors({ scrub: scrubber(secrets), stderr: false }));
  const before = process.cpuUsage().user;
  const result = await cleaned(new TestExchange('tools/call'));
  expect(process.cpuUsage().user - before).toBeLessThan(500_000);
  expect(result).toMatchObject({ content: texts, structuredContent: { key: '[redacted]' } });
});
