import { isObject, type JsonObject } from '../../src/jsonrpc/message.ts';
import { Meta } from '../../src/protocol/methods.ts';

/** What the server says about its program. Empty if it says nothing. */
export function serverInfo(discovered: JsonObject): JsonObject {
  const info: unknown = discovered['_meta']?.[Meta.ServerInfo] ?? discovered['serverInfo'];
  return isObject(info) ? info : {};
}

/** The title of the server's program, or its name. */
export function serverName(discovered: JsonObject): string | undefined {
  const { title, name } = serverInfo(discovered);
  return [title, name].find((text): text is string => typeof text === 'string' && text !== '');
}
