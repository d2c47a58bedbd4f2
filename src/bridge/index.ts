/**
 * Serves one server, or several as one, over other transports. `everwire bridge` is built on this.
 *
 * @module
 */
export { createBridge, type Bridge, type BridgeOptions } from './bridge.ts';
export type { ServerDescription } from './connection.ts';
export { ConfigError, parseConfig, readConfig } from './config/config.ts';
export type {
  CommandServer,
  ConfigVariables,
  FleetConfig,
  OAuthSettings,
  ServerConfig,
  UrlServer,
} from './config/config.ts';
export { createFleet, type Fleet, type FleetOptions } from './fleet/fleet.ts';
export type { FleetServer } from './fleet/members.ts';
export type { NameRules } from './fleet/names.ts';
export { openFleet } from './fleet/open-fleet.ts';
export type { FleetChange, OpenFleet, OpenFleetOptions, ServerConnection } from './fleet/open-fleet.ts';
export type { ToolSelection } from './fleet/selection.ts';
