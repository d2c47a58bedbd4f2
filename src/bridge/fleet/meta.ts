/** The keys of `_meta` that Everwire defines. */
export const FleetMeta = {
  /** In a list result: the names of the servers that are missing because they did not respond. */
  Missing: 'dev.everwire/missing',
  /** In a request that no other rule can route: the name of its server. */
  Server: 'dev.everwire/server',
} as const;
