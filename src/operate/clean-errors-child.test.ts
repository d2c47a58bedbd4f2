import { expect, test } from 'vitest';
import { TestExchange } from '../../test/support/exchange.ts';
import { scrubber } from '../auth/scrub.ts';
import { connect } from '../client/connect.ts';
import { compose, type Service } from '../core/exchange.ts';
import { cleanErrors } from './clean-errors.ts';

const SECRET = 's3cret-of-the-configuration';

function served(service: Service): Promise<unknown> {
  return compose(service, cleanErrors({ scrub: scrubber([SECRET]), stderr: false }))(new TestExchange('tools/call'));
}

test('the stderr of a process is removed although its control characters are escaped', async () => {
  const lines = ['first \u001b[31m', `\u200d${SECRET}\u202e \u{1f468}\u200d\u3164`, 'last \u2028\u009b\rx'];
  const script = `process.stdin.on('data', () => { process.stderr.write(${JSON.stringify(lines.join('\n'))}); process.exit(3); })`;
  const args = ['-e', script];
  const target = { command: process.execPath, args, stderr: 'capture' } as const;
  const failing = (): Promise<never> => connect(target, { onerror: () => {} }) as Promise<never>;
  await expect(failing()).rejects.toThrow('exited with code 3: last \\u2028\\u009b\\u000dx');
  const { message } = (await served(failing).catch((thrown: unknown) => thrown)) as Error;
  expect(message).toMatch(/exited with code 3/);
  expect(message).not.toMatch(/first|last|u001b|s3cret/);
});
