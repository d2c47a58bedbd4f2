import { describe, expect, test } from 'vitest';
import {
  ASKABLE,
  done,
  frame,
  listen,
  modernCall,
  modernWeb,
  needs,
  notice,
  ofSubscription,
  progress,
  result,
  session,
  startTask,
  task,
  text,
  tool,
  web,
  withToken,
} from '../../test/support/lint-conversations.ts';
import { CLEAN_TASKS } from '../../test/support/lint-task-seeds.ts';
import { modernMeta, rpc, type WireScript } from '../../test/support/wire-script.ts';

/** Long conversations without a mistake. */
const CLEAN: Readonly<Record<string, () => WireScript>> = {
  'a session over stdio': () =>
    session('2025-11-25', ASKABLE, { tools: { listChanged: true }, logging: {}, resources: {} })
      .call('tools/list', {}, { tools: [tool()], nextCursor: 'a' })
      .call('tools/list', { cursor: 'a' }, { tools: [] })
      .client(rpc('c', 'tools/call', withToken('t')))
      .server(progress('t', 1))
      .server(rpc('q', 'roots/list'))
      .client(result('q', { roots: [{ uri: 'file:///a' }] }))
      .server(progress('t', 2))
      .server(notice('notifications/tools/list_changed'))
      .server(result('c', text))
      .client(rpc('d', 'tools/call', { name: 'add' }))
      .client(notice('notifications/cancelled', { requestId: 'd' }))
      .call('ping', undefined, {})
      .end(),
  'a task': () =>
    startTask(task('working'))
      .call('tasks/get', { taskId: '0123456789abcdef' }, task('input_required'))
      .call('tasks/get', { taskId: '0123456789abcdef' }, task('completed'))
      .end(),
  ...CLEAN_TASKS,
  'a request with questions': () => {
    const asked = { a: { method: 'roots/list' } };
    const script = needs({ requestState: 's', inputRequests: asked }, { roots: {} });
    const retry = { requestState: 's', inputResponses: { a: { roots: [] } }, _meta: modernMeta({ roots: {} }) };
    return script
      .client(modernCall(1, retry))
      .server(result(1, done(text)))
      .end();
  },
  'a session over HTTP': () =>
    web('2025-11-25', ASKABLE)
      .exchange({ message: rpc(1, 'tools/list') }, { message: result(1, { tools: [tool()] }) })
      .exchange(
        { message: rpc(2, 'tools/call', withToken('t')) },
        { frames: ['id: 1\ndata:\n\n', progress('t', 1), rpc('q', 'roots/list'), `id: 2\n${frame(result(2, text))}`] },
      )
      .exchange({ message: result('q', { roots: [] }) }, { status: 202 })
      .exchange({ method: 'GET' }, { status: 405 })
      .exchange({ method: 'DELETE' }, { status: 204 })
      .exchange({ message: rpc(3, 'ping') }, { status: 404 })
      .end(),
  'a subscription': () =>
    ofSubscription(
      ofSubscription(listen({ toolsListChanged: true }), 'notifications/subscriptions/acknowledged', {
        notifications: { toolsListChanged: true },
      }),
      'notifications/tools/list_changed',
    ).end(),
  'requests without a session over HTTP': () =>
    modernWeb()
      .post(modernCall(2), { status: 400, message: { jsonrpc: '2.0', id: 2, error: { code: -32020, message: 'no' } } })
      .end(),
};

describe('nothing is reported that was not seen', () => {
  test.each(Object.entries(CLEAN))('%s has no finding, whichever of its records is lost', async (_, conversation) => {
    expect(await conversation().findings()).toEqual([]);
    let gaps = 0;
    for await (const findings of conversation().findingsWithGaps()) {
      gaps += 1;
      expect(
        findings.map(({ rule, seen }) => `${rule.id}: ${seen}`),
        `without event ${gaps}`,
      ).toEqual([]);
    }
    expect(gaps).toBeGreaterThan(3);
  });
});
