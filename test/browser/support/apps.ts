import path from 'node:path';
import type { Browser, BrowserContextOptions, FrameLocator, Locator, Page } from 'playwright-core';
import { openPage } from './browser.ts';
import { inspectorFor } from './explore.ts';
import { scriptedServer, type Script, type ScriptedServer } from './scripted-server.ts';
import type { CommandTarget } from '../../../src/client/target.ts';
import { AppServer } from '../../../src/inspector/apps/app-server.ts';
import type { Inspector } from '../../../src/inspector/inspector.ts';
import type { JsonObject } from '../../../src/jsonrpc/message.ts';
import { node } from '../../support/command-line.ts';

/** The screen Apps of a connected inspector. */
export interface AppsPage {
  readonly page: Page;
  readonly inspector: Inspector;
  /** What the page did that it must not do. Requests of apps do not count. */
  misdeeds(): readonly string[];
  readonly run: Locator;
  /** The document of the app. */
  readonly view: FrameLocator;
  /** What the table of the policy says was blocked, by the names of its rows. */
  blocked(row: string): Promise<string>;
}

/** Opens the screen Apps for a server. */
export async function openApps(
  browser: Browser,
  target: URL | CommandTarget,
  context: BrowserContextOptions = {},
): Promise<AppsPage> {
  const apps = await AppServer.listen();
  const { capture, inspector } = inspectorFor(target, { apps });
  inspector.connect({ choice: 'a' });
  const { feed, breakpoints } = inspector;
  const { page, misdeeds } = await openPage(browser, {
    ...{ capture, feed, commands: inspector, breakpoints, apps },
    ...context,
  });
  await page.getByRole('tab', { name: /^Tools/ }).waitFor();
  await page.getByRole('tablist', { name: 'Screens' }).getByRole('tab', { name: 'Apps' }).click();
  const own = new URL(apps.frames.replace('*', 'x')).port;
  const run = page.getByRole('button', { name: /^Run/ });
  await run.waitFor();
  return {
    ...{ page, inspector, run },
    misdeeds: () =>
      misdeeds.filter((misdeed) => !new RegExp(`^request: http://[0-9a-f]{32}\\.localhost:${own}/`).test(misdeed)),
    view: page.frameLocator('iframe.app-frame').frameLocator('iframe[src=view]'),
    blocked: async (row) =>
      (await page
        .getByRole('row', { name: new RegExp(`^${row}`) })
        .getByRole('cell')
        .last()
        .textContent()) ?? '',
  };
}

/** A tool with an app, as a server lists it. */
export function appTool(name: string, uri: string, others: JsonObject = {}): JsonObject {
  return { name, inputSchema: { type: 'object' }, _meta: { ui: { resourceUri: uri } }, ...others };
}

/** A server whose one tool `show` has an app with this script. A function is called when the app is read. */
export async function appServer(
  script: string | (() => string),
  {
    csp = {},
    answer,
    tools = [],
  }: { csp?: JsonObject | (() => JsonObject); answer?: Script; tools?: readonly JsonObject[] } = {},
): Promise<ScriptedServer> {
  return scriptedServer((request) => {
    const { method, params } = request;
    if (method === 'tools/list') return { tools: [appTool('show', 'ui://test/app'), ...tools] };
    if (method === 'resources/list') return { resources: [] };
    if (method !== 'resources/read') return answer?.(request) ?? { content: [{ type: 'text', text: 'done' }] };
    const code = typeof script === 'string' ? script : script();
    const text = `<!doctype html><meta charset="utf-8"><title>test</title><body><p id="out"></p><script>${code}</script>`;
    const ui = { csp: typeof csp === 'function' ? csp() : csp };
    return {
      contents: [{ uri: params['uri'], mimeType: 'text/html;profile=mcp-app', text, _meta: { ui } }],
    };
  });
}

/** The beginning of the script of an app: `request`, `notify`, and what it has received. */
export const APP = `
const received = [];
const waiting = new Map();
let last = 0;
const post = (message) => parent.postMessage({ jsonrpc: '2.0', ...message }, '*');
const notify = (method, params = {}) => post({ method, params });
const request = (method, params = {}) => new Promise((resolve) => {
  last += 1;
  waiting.set(last, resolve);
  post({ id: last, method, params });
});
addEventListener('message', ({ data, source }) => {
  if (source !== parent) return;
  if (data.method === undefined) waiting.get(data.id)?.(data);
  else {
    received.push(data);
    if (data.id !== undefined) post({ id: data.id, result: {} });
  }
});
const start = async () => {
  const answer = await request('ui/initialize', { appInfo: { name: 'test', version: '1' }, appCapabilities: {}, protocolVersion: '2026-01-26' });
  notify('ui/notifications/initialized');
  return answer.result;
};
const say = (text) => { document.getElementById('out').textContent = typeof text === 'string' ? text : JSON.stringify(text); };
`;

/** An official example server, started over stdio. */
export function exampleServer(name: string): CommandTarget {
  const file = path.join(
    import.meta.dirname,
    `../../../node_modules/@modelcontextprotocol/server-${name}/dist/index.js`,
  );
  return { command: node, args: [file, '--stdio'] };
}
