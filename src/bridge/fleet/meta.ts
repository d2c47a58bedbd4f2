/** Keys of `_meta` that are ours. */
export const FleetMeta = {
  /** Of a list: the names of the servers that it comes without, for they did not answer. */
  Missing: 'dev.everwire/missing',
  /** Of a request that no rule leads to a server: the name of the one that it is for. */
  Server: 'dev.everwire/server',
} as const;
