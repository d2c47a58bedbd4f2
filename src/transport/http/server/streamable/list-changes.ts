import { isObject, type JsonObject } from '../../../../jsonrpc/message.ts';
import { NotificationMethod } from '../../../../protocol/methods.ts';

const LIST_CHANGES = [
  ['tools', NotificationMethod.ToolsListChanged],
  ['prompts', NotificationMethod.PromptsListChanged],
  ['resources', NotificationMethod.ResourcesListChanged],
] as const;

/** The notifications with which a server says that its lists have changed, by its result of `initialize`. */
export function listChangesOf({ capabilities }: JsonObject): readonly string[] {
  const declared: JsonObject = isObject(capabilities) ? capabilities : {};
  const changes = LIST_CHANGES.filter(([list]) => {
    const capability: unknown = declared[list];
    return isObject(capability) && capability['listChanged'];
  });
  return changes.map(([, method]) => method);
}
