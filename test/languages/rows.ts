import { LEGACY_REVISIONS, MODERN_REVISIONS, type Revision } from '../../src/protocol/revisions.ts';
import type { Row, Way } from './language.ts';

const LEGACY: Revision = '2025-11-25';
const MODERN: Revision = '2026-07-28';

/** Our client and a server of both eras, over each transport in each revision. */
export const serverRows: readonly Row[] = [...LEGACY_REVISIONS, ...MODERN_REVISIONS].flatMap((revision): Row[] => {
  const row = (way: Row['way']): Row => ({ peer: 'server', way, revision });
  if (revision === '2024-11-05') return [row('stdio'), row('sse')];
  if (revision === LEGACY) return [row('stdio'), row('http'), row('stateless'), row('sse')];
  if (revision === MODERN) return [row('stdio'), row('http'), row('stateless')];
  return [row('stdio'), row('http')];
});

/** A client of both eras and our server. */
export const clientRows: readonly Row[] = [
  { peer: 'client', way: 'stdio', revision: LEGACY },
  { peer: 'client', way: 'http', revision: LEGACY },
  { peer: 'client', way: 'sse', revision: LEGACY },
  { peer: 'client', way: 'stdio', revision: MODERN },
  { peer: 'client', way: 'http', revision: MODERN },
];

/** A client that can be told to use an older revision. */
export const olderClientRows: readonly Row[] = [
  { peer: 'client', way: 'sse', revision: '2024-11-05' },
  { peer: 'client', way: 'http', revision: '2025-03-26' },
  { peer: 'client', way: 'stdio', revision: '2025-06-18' },
];

/**
 * The same through our bridge: within an era, and from one to the other.
 *
 * @param modern how the server is reached in 2026-07-28
 * @param legacy how it is reached in 2025-11-25, where it must not know 2026-07-28
 */
export const bridgedRows = (modern: Way = 'http', legacy: Way = 'sse'): readonly Row[] =>
  [LEGACY, MODERN].flatMap((across): Row[] => [
    { peer: 'server', way: modern, revision: MODERN, across },
    { peer: 'server', way: legacy, revision: LEGACY, across },
    { peer: 'client', way: 'http', revision: LEGACY, across },
    { peer: 'client', way: 'stdio', revision: MODERN, across },
  ]);
