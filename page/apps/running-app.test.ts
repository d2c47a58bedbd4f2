import { expect, test, vi } from 'vitest';
import { Deferred } from '../../src/base/deferred.ts';
import type { JsonObject } from '../../src/jsonrpc/message.ts';
import type { Entry } from '../explore/entry-list.ts';
import type { Explorer, Session } from '../explore/explorer.ts';
import type { Outcome } from '../explore/request.ts';
import { RunningApp } from './running-app.ts';

const APP = { uri: 'ui://test/app', mimeType: 'text/html;profile=mcp-app', text: '<!doctype html>', _meta: { ui: {} } };
const tool = { id: 'show', label: 'show', raw: { name: 'show', _meta: { ui: { resourceUri: APP.uri } } } };

/** A session and a server whose answers a test gives. */
class World {
  readonly read = new Deferred<Outcome>();
  readonly called = new Deferred<Outcome>();
  readonly calls: string[] = [];
  readonly commands: unknown[] = [];
  readonly cancel = vi.fn<() => void>();
  readonly app: RunningApp;

  constructor() {
    const session = {
      call: (_entry: string, method: string, params: string) => {
        this.calls.push(`${method} ${params}`);
        return { settled: this.called.promise, cancel: this.cancel };
      },
      send: () => ({ settled: this.read.promise, cancel: () => {} }),
      task: () => undefined,
    } as unknown as Session;
    const policy = { header: '', domains: { connectDomains: [], resourceDomains: [] } };
    const send = async (name: string, argument: JsonObject): Promise<unknown> => {
      this.commands.push([name, argument['uri'] ?? argument['id']]);
      return name === 'serveApp' ? { id: 7, url: 'http://a.localhost:1/t/', policy } : undefined;
    };
    const explorer = { server: { send } } as unknown as Explorer;
    this.app = new RunningApp(explorer, session, tool as unknown as Entry, '{"a":1}');
  }
}

const settle = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
const result = (value: JsonObject): Outcome => ({ kind: 'result', result: value, duration: 0 });

test('an app is served after its tool was called, and its end is told to the server once', async () => {
  const { app, calls, commands, read, cancel } = new World();
  expect(calls).toEqual(['tools/call {"name":"show","arguments":{"a":1}}']);
  read.resolve(result({ contents: [APP] }));
  await settle();
  expect(app.shown.value).toMatchObject({ id: 7, origin: 'http://a.localhost:1' });
  app.end();
  app.end();
  await settle();
  expect(app.isClosed.value).toBe(true);
  expect(cancel).toHaveBeenCalledOnce();
  expect(commands).toEqual([
    ['serveApp', APP.uri],
    ['closeApp', 7],
  ]);
});

test('an app that is ended while it is read is not shown, and is not served further', async () => {
  const { app, commands, read } = new World();
  app.end();
  read.resolve(result({ contents: [APP] }));
  await settle();
  expect(app.shown.value).toBeUndefined();
  expect(commands.at(-1)).toEqual(['closeApp', 7]);
});

test('an app that cannot be read says why', async () => {
  const { app, read } = new World();
  read.resolve({ kind: 'error', error: { code: -1, message: 'no such app' }, duration: 0 });
  await settle();
  expect(app.problem.value).toBe('The app cannot be read: no such app');
});
