/** Names of requests that this package acts on. All others pass through as strings. */
export const Method = {
  Initialize: 'initialize',
  Ping: 'ping',
  Discover: 'server/discover',
  Listen: 'subscriptions/listen',
  CallTool: 'tools/call',
  ListTools: 'tools/list',
  GetPrompt: 'prompts/get',
  ListPrompts: 'prompts/list',
  ReadResource: 'resources/read',
  ListResources: 'resources/list',
  ListResourceTemplates: 'resources/templates/list',
  Complete: 'completion/complete',
  /** Of the tasks extension. */
  GetTask: 'tasks/get',
  UpdateTask: 'tasks/update',
  CancelTask: 'tasks/cancel',
  SetLevel: 'logging/setLevel',
  Subscribe: 'resources/subscribe',
  Unsubscribe: 'resources/unsubscribe',
  CreateMessage: 'sampling/createMessage',
  Elicit: 'elicitation/create',
  ListRoots: 'roots/list',
} as const;

/**
 * The requests whose results say how long they may be cached (2026-07-28, server/utilities/caching: Cacheable Results).
 */
export const CACHEABLE: ReadonlySet<string> = new Set([
  Method.Discover,
  Method.ListTools,
  Method.ListPrompts,
  Method.ListResources,
  Method.ListResourceTemplates,
  Method.ReadResource,
]);

/** The requests that may be answered with questions (2026-07-28, basic/patterns/mrtr: Supported Requests). */
export const CAN_REQUIRE_INPUT: ReadonlySet<string> = new Set([Method.CallTool, Method.GetPrompt, Method.ReadResource]);

/** The questions that a server may ask a client during a request (2026-07-28, patterns/mrtr: InputRequests). */
export const QUESTIONS: ReadonlySet<string> = new Set([Method.Elicit, Method.CreateMessage, Method.ListRoots]);

/** Names of notifications that this package acts on. */
export const NotificationMethod = {
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
  /** Of the tasks extension. */
  Task: 'notifications/tasks',
  /** The same in 2025-11-25. */
  TaskStatus: 'notifications/tasks/status',
} as const;

/** The notifications that some revision has. */
export const KNOWN_NOTICES: ReadonlySet<string> = new Set([
  ...Object.values(NotificationMethod),
  'notifications/elicitation/complete',
]);

/** Keys of `_meta` that this package acts on. */
export const Meta = {
  ProgressToken: 'progressToken',
  /** The `_meta` keys with which each request describes its sender (2026-07-28, basic: _meta). */
  ProtocolVersion: 'io.modelcontextprotocol/protocolVersion',
  ClientInfo: 'io.modelcontextprotocol/clientInfo',
  ClientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  LogLevel: 'io.modelcontextprotocol/logLevel',
  ServerInfo: 'io.modelcontextprotocol/serverInfo',
  SubscriptionId: 'io.modelcontextprotocol/subscriptionId',
} as const;

/** Whether a method is a notification by MCP's naming. Such an exchange needs no answer. */
export function isNotificationMethod(method: string): boolean {
  return method.startsWith('notifications/');
}
