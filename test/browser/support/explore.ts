import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { openPage } from './browser.ts';
import { scriptedServer, type Script, type ScriptedServer } from './scripted-server.ts';
import { Capture } from '../../../src/inspect/capture.ts';
import { StateFeed } from '../../../src/inspect/page-server/state-feed.ts';
import type { ConnectionState, InspectorState } from '../../../src/inspect/page-server/page-api.ts';
import { Inspector } from '../../../src/inspector/inspector.ts';
import type { JsonObject } from '../../../src/jsonrpc/message.ts';

/** The screens Explore and Asked, as a person sees them. */
export interface ExplorePage {
  readonly page: Page;
  readonly misdeeds: readonly string[];
  readonly server: ScriptedServer;
  readonly call: Locator;
  readonly result: Locator;
  /** Shows one of the lists, or another tab. */
  tab(name: string): Promise<void>;
  /** Chooses an entry of the list. */
  choose(name: string): Promise<void>;
}

/** A page that is connected to a scripted server. */
export async function explore(
  browser: Browser,
  script: Script,
  { described, ...context }: BrowserContextOptions & { described?: JsonObject } = {},
): Promise<ExplorePage> {
  const server = await scriptedServer(script, described);
  const capture = new Capture();
  const choice = { id: 'a', name: 'scripted', source: 'command line', detail: server.url.href };
  const inspector = new Inspector({
    capture,
    choices: [{ ...choice, server: { kind: 'url', url: server.url, headers: {} } }],
  });
  onTestFinished(() => inspector.close());
  inspector.connect({ choice: 'a' });
  const { page, misdeeds } = await openPage(browser, {
    capture,
    feed: inspector.feed,
    commands: inspector,
    ...context,
  });
  const call = page.getByRole('button', { name: 'Call', exact: true });
  const tab = (name: string): Promise<void> => page.getByRole('tab', { name: new RegExp(`^${name}`) }).click();
  await page.getByRole('tab', { name: /^Tools/ }).waitFor();
  return {
    ...{ page, misdeeds, server, call, tab },
    result: page.getByRole('region', { name: 'Result' }),
    choose: (name) => page.getByRole('listitem').getByRole('button', { name, exact: true }).click(),
  };
}

/** A state of the inspector, for what is hard to bring about. */
export function stateWith(connection: Partial<ConnectionState>, others: Partial<InspectorState> = {}): StateFeed {
  return new StateFeed({
    role: 'client',
    choices: [],
    running: [],
    questions: [],
    roots: [],
    subscriptions: [],
    ...others,
    connection: { status: 'idle', attempts: [], stderr: [], ...connection },
  });
}

/** A tool without arguments. */
export function tool(name: string, others: JsonObject = {}): JsonObject {
  return { name, inputSchema: { type: 'object' }, ...others };
}
