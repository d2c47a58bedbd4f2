import { randomBytes } from 'node:crypto';
import { isObject, type JsonObject, type Request } from '../../../../jsonrpc/message.ts';
import { Method } from '../../../../protocol/methods.ts';
import type { SessionSettings } from '../../../../store/session-store.ts';

/** A request that changes the settings of its session, without what is not kept. It contains only JSON. */
export type Setting =
  | { readonly method: typeof Method.SetLevel; readonly params: { readonly level: string } }
  | { readonly method: typeof Method.Subscribe | typeof Method.Unsubscribe; readonly params: { readonly uri: string } };

/** Undefined if a request changes nothing that a session keeps. */
export function settingOf({ method, params }: JsonObject): Setting | undefined {
  const { level, uri }: JsonObject = isObject(params) ? params : {};
  switch (method) {
    case Method.SetLevel:
      return typeof level === 'string' ? { method: Method.SetLevel, params: { level } } : undefined;
    case Method.Subscribe:
      return typeof uri === 'string' ? { method: Method.Subscribe, params: { uri } } : undefined;
    case Method.Unsubscribe:
      return typeof uri === 'string' ? { method: Method.Unsubscribe, params: { uri } } : undefined;
    default:
      return undefined;
  }
}

/** The settings after these changes. */
export function changed(settings: SessionSettings, changes: readonly Setting[]): SessionSettings {
  let { logLevel } = settings;
  const resources = new Set(settings.resources);
  for (const { method, params } of changes) {
    if (method === Method.SetLevel) logLevel = params.level;
    else if (method === Method.Subscribe) resources.add(params.uri);
    else resources.delete(params.uri);
  }
  return { ...settings, logLevel, resources: [...resources] };
}

/** The changes that lead to these settings. */
export function changesTo({ logLevel, resources = [] }: SessionSettings): Setting[] {
  const level: Setting[] = logLevel === undefined ? [] : [{ method: Method.SetLevel, params: { level: logLevel } }];
  return [...level, ...resources.map((uri) => ({ method: Method.Subscribe, params: { uri } }))];
}

/** The requests that repeat changes of other processes. Their ids are unlike those of any client. */
export function replayOf(changes: readonly Setting[]): Request[] {
  const prefix = `replayed-${randomBytes(8).toString('hex')}`;
  return changes.map(({ method, params }, index) => ({ jsonrpc: '2.0', id: `${prefix}-${index}`, method, params }));
}
