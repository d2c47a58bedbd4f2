import { McpServer } from 'everwire/server';
import {
  testClient,
  type AskedQuestion,
  type ReceivedNotification,
  type TestClient,
  type TestClientOptions,
} from 'everwire/testing';

const options: TestClientOptions = {
  revision: '2025-11-25',
  principal: 'ada',
  scopes: ['notes:write'],
  claims: { tenant: 'acme' },
  answers: {
    elicit: [{ action: 'accept', content: { size: 'large' } }, 'decline'],
    elicitUrl: 'accept',
    sample: ({ messages }) => `${messages.length} messages`,
    roots: [{ uri: 'file:///home/ada' }],
  },
};

export async function run(): Promise<readonly [readonly AskedQuestion[], readonly ReceivedNotification[]]> {
  await using client: TestClient = await testClient(new McpServer({ name: 'tested', version: '1.0.0' }), options);
  const { level, data } = await client.notifications.next('notifications/message', {
    where: ({ logger }) => logger === 'orders',
  });
  const { progress } = await client.notifications.next('notifications/progress', { timeout: 100 });
  const [custom] = client.notifications.of('notifications/custom');
  console.log(level, data, progress + 1, custom?.['field']);
  // @ts-expect-error Log messages have no such member.
  await client.notifications.next('notifications/message', { where: (log) => log.progress === 1 });
  // @ts-expect-error There is no such answer.
  await testClient(new McpServer({ name: 'tested', version: '1.0.0' }), { answers: { elicit: 'yes' } });
  return [client.questions, client.notifications.received];
}
