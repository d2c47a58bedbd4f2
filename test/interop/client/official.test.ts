import type { Peer } from '../features.ts';
import { featureServer } from '../peers.ts';
import { v1Http, v1Sse, v1Stdio, v2Http, v2HttpSession, v2Stdio, v2StdioSession } from './official-servers.ts';
import { serverMatrix } from './server-matrix.ts';

/** The official servers report a missing resource as invalid params, in every revision. */
const peer: Peer = { ...featureServer, name: 'official', namesMissingResource: false };
const legacy = { peer, revision: '2025-11-25' };
const modern = { peer, revision: '2026-07-28' };

serverMatrix('official servers', [
  { ...legacy, heading: '1.x over stdio', start: v1Stdio },
  { ...legacy, heading: '1.x over Streamable HTTP', start: v1Http },
  { ...legacy, heading: '1.x over HTTP+SSE', start: v1Sse },
  { ...modern, heading: '2.x of both eras over stdio', start: () => v2Stdio('serve') },
  {
    ...legacy,
    heading: '2.x of both eras over stdio, pinned',
    start: () => v2Stdio('serve'),
    options: { eras: 'legacy' },
  },
  { ...modern, heading: '2.x without handshakes over stdio', start: () => v2Stdio('reject') },
  { ...legacy, heading: '2.x with handshakes alone over stdio', start: v2StdioSession },
  { ...modern, heading: '2.x of both eras over HTTP', start: () => v2Http('stateless') },
  { ...modern, heading: '2.x without handshakes over HTTP', start: () => v2Http('reject') },
  { ...legacy, heading: '2.x with handshakes alone over HTTP', start: v2HttpSession },
]);
