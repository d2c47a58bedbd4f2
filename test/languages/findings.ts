import type { Finding } from './language.ts';

const LEGACY_SERVER_ERROR = /code: -32002/;

/** Servers of several SDKs do this. */
export const missingResource: Finding = {
  what: 'a missing resource is answered with error −32602 in every revision',
  rule: 'up to 2025-11-25, servers should answer −32002',
  ours: 'The client passes the code on. The bridge answers −32002 if the data of the error names the URI.',
  features: ['resource not found'],
  rows: ({ peer, revision, across }) => peer === 'server' && revision < '2026-07-28' && across === undefined,
  fails: LEGACY_SERVER_ERROR,
};

/** The server behind the bridge is one of the official TypeScript SDK 1.x, which does the same. */
export const missingResourceBehindBridge: Finding = {
  ...missingResource,
  what: 'the official TypeScript server 1.x behind the bridge answers −32602',
  rows: ({ peer, revision, across }) => peer === 'client' && revision < '2026-07-28' && across === '2025-11-25',
};
