/** Method names, and `_meta` keys, that this package acts on. All others pass through as strings. */

export const Method = {
  Initialize: 'initialize',
  Ping: 'ping',
  Discover: 'server/discover',
  Listen: 'subscriptions/listen',
  SetLevel: 'logging/setLevel',
  Subscribe: 'resources/subscribe',
  Unsubscribe: 'resources/unsubscribe',
  CreateMessage: 'sampling/createMessage',
  Elicit: 'elicitation/create',
  ListRoots: 'roots/list',
} as const;

export const Notice = {
  Initialized: 'notifications/initialized',
  Cancelled: 'notifications/cancelled',
  Progress: 'notifications/progress',
  Message: 'notifications/message',
  Acknowledged: 'notifications/subscriptions/acknowledged',
  ToolsListChanged: 'notifications/tools/list_changed',
  PromptsListChanged: 'notifications/prompts/list_changed',
  ResourcesListChanged: 'notifications/resources/list_changed',
  ResourceUpdated: 'notifications/resources/updated',
  RootsListChanged: 'notifications/roots/list_changed',
} as const;

export const Meta = {
  ProgressToken: 'progressToken',
  ServerInfo: 'io.modelcontextprotocol/serverInfo',
  SubscriptionId: 'io.modelcontextprotocol/subscriptionId',
} as const;

/** MCP names every notification so; at the waist it tells an exchange that wants no answer. */
export function isNotificationMethod(method: string): boolean {
  return method.startsWith('notifications/');
}
