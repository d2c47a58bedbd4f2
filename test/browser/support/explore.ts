import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { openPage } from './browser.ts';
import { scriptedServer, type Script, type ScriptedServer } from './scripted-server.ts';
import { Capture } from '../../../src/inspect/capture.ts';
import { StateFeed } from '../../../src/inspect/page-server/state-feed.ts';
import type { ConnectionState, InspectorState } from '../../../src/inspect/page-server/page-api.ts';
import type { CommandTarget } from '../../../src/client/target.ts';
import type { InspectedServer } from '../../../src/inspector/connection.ts';
import { Inspector, type InspectorOptions } from '../../../src/inspector/inspector.ts';
import type { SavedCalls } from '../../../src/inspector/saved-calls.ts';
import type { JsonObject } from '../../../src/jsonrpc/message.ts';

/** The screens of a connected inspector, as a person sees them. */
export interface InspectedPage {
  readonly page: Page;
  readonly misdeeds: readonly string[];
  /** Ends the server of the page. */
  stop(): Promise<void>;
  readonly call: Locator;
  readonly result: Locator;
  /** Shows one of the lists, or another tab. */
  tab(name: string): Promise<void>;
  /** Chooses an entry of the list. */
  choose(name: string): Promise<void>;
}

export interface ExplorePage extends InspectedPage {
  readonly server: ScriptedServer;
}

/** A page that is connected to a scripted server. */
export async function explore(
  browser: Browser,
  script: Script,
  { described, ...context }: BrowserContextOptions & { described?: JsonObject; saved?: SavedCalls } = {},
): Promise<ExplorePage> {
  const server = await scriptedServer(script, described);
  return { ...(await exploreServer(browser, server.url, context)), server };
}

/** A page that is connected to a server. */
export async function exploreServer(
  browser: Browser,
  target: string | URL | CommandTarget,
  { saved, ...context }: BrowserContextOptions & { saved?: SavedCalls | undefined } = {},
): Promise<InspectedPage> {
  const { capture, inspector } = inspectorFor(target, { saved });
  inspector.connect({ choice: 'a' });
  const { page, misdeeds, stop } = await openPage(browser, {
    capture,
    feed: inspector.feed,
    commands: inspector,
    breakpoints: inspector.breakpoints,
    sessions: inspector.sessions,
    ...context,
  });
  const call = page.getByRole('button', { name: 'Call', exact: true });
  const tab = (name: string): Promise<void> => page.getByRole('tab', { name: new RegExp(`^${name}`) }).click();
  await page.getByRole('tab', { name: /^Tools/ }).waitFor();
  return {
    ...{ page, misdeeds, call, tab, stop },
    result: page.getByRole('region', { name: 'Result' }),
    choose: (name) => page.getByRole('listitem').getByRole('button', { name, exact: true }).click(),
  };
}

/** An inspector with one server to choose. */
export function inspectorFor(
  target: string | URL | CommandTarget,
  others: Pick<InspectorOptions, 'saved' | 'apps'> = {},
): { capture: Capture; inspector: Inspector } {
  const capture = new Capture();
  const server: InspectedServer =
    typeof target === 'string' || target instanceof URL
      ? { kind: 'url', url: new URL(target), headers: {} }
      : { kind: 'command', target: { ...target, stopTimeout: 100 } };
  const choice = { id: 'a', name: 'inspected', source: 'command line', detail: '' };
  const inspector = new Inspector({ capture, choices: [{ ...choice, server }], ...others });
  onTestFinished(() => inspector.close());
  return { capture, inspector };
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
