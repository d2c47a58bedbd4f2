import { bytesOfBinary } from '../../src/base/bytes.browser.ts';
import { isObject, type JsonObject, type JsonValue } from '../../src/jsonrpc/message.ts';
import { APP_TYPE } from '../../src/protocol/apps.ts';

/** What a server says about apps may be anything. (MCP Apps 2026-01-26, UI Resource Format and Resource Discovery.) */

/** An app, as its resource describes it. */
export interface AppResource {
  readonly html: string;
  readonly csp: JsonValue;
  /** The names of the permissions that it requests. */
  readonly permissions: readonly string[];
}

/** The URI of the app that shows the results of a tool. Undefined if there is none. */
export function appUriOf(tool: JsonObject): string | undefined {
  // The second is the form before the first stable revision.
  const found = [uiOf(tool)['resourceUri'], tool['_meta']?.['ui/resourceUri']] as unknown[];
  return found.find((uri): uri is string => typeof uri === 'string' && uri.startsWith('ui://'));
}

/** Whether an app may call a tool. By default, it may. */
export function isForApps(tool: JsonObject): boolean {
  const visibility: unknown = uiOf(tool)['visibility'];
  return visibility === undefined || (Array.isArray(visibility) && visibility.includes('app'));
}

/** Whether a model may call a tool. By default, it may. */
export function isForModels(tool: JsonObject): boolean {
  const visibility: unknown = uiOf(tool)['visibility'];
  return visibility === undefined || (Array.isArray(visibility) && visibility.includes('model'));
}

/**
 * The app in the result of `resources/read`.
 *
 * @param listed returns the resource in the list, whose settings count if the content has none.
 * @throws Error that says why it is no app.
 */
export async function appIn(result: JsonObject, listed: () => Promise<JsonObject | undefined>): Promise<AppResource> {
  const { contents } = result as { contents?: unknown };
  const content: unknown = Array.isArray(contents) ? contents[0] : undefined;
  if (!isObject(content)) throw new Error('The resource has no content.');
  const { mimeType, text, blob } = content as Readonly<Record<string, unknown>>;
  if (mimeType !== APP_TYPE)
    throw new Error(`The type of the resource is ${JSON.stringify(mimeType) ?? 'missing'}, and not "${APP_TYPE}".`);
  const own: unknown = content['_meta']?.['ui'];
  const { csp, permissions } = isObject(own) ? own : uiOf((await listed()) ?? {});
  const html = typeof text === 'string' ? text : typeof blob === 'string' ? decoded(blob) : undefined;
  if (html === undefined) throw new Error('The resource has neither a text nor a valid blob.');
  return { html, csp: csp as JsonValue, permissions: isObject(permissions) ? Object.keys(permissions) : [] };
}

function uiOf(described: JsonObject): JsonObject {
  const ui: unknown = described['_meta']?.['ui'];
  return isObject(ui) ? ui : {};
}

function decoded(blob: string): string | undefined {
  try {
    return new TextDecoder().decode(bytesOfBinary(atob(blob)));
  } catch {
    return undefined;
  }
}
