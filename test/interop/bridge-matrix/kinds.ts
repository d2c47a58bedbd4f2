import { LEGACY_REVISIONS, MODERN_REVISIONS, REVISIONS, type Revision } from '../../../src/protocol/revisions.ts';

/** One end of a bridge: a revision and one of its transports. */
export interface Kind {
  readonly revision: Revision;
  readonly transport: 'stdio' | 'http' | 'sse';
  /** Its name in the table. */
  readonly heading: string;
}

/** 2024-11-05 over HTTP+SSE, every later revision over Streamable HTTP and stdio. */
export const KINDS: readonly Kind[] = [...LEGACY_REVISIONS, ...MODERN_REVISIONS].flatMap((revision): Kind[] => {
  if (revision === '2024-11-05') return [{ revision, transport: 'sse', heading: `${revision} HTTP+SSE` }];
  return [
    { revision, transport: 'http', heading: `${revision} HTTP` },
    { revision, transport: 'stdio', heading: `${revision} stdio` },
  ];
});

/** Every revision over every transport: HTTP+SSE has none of those without a handshake. */
export const PAIRS: readonly Kind[] = [...LEGACY_REVISIONS, ...MODERN_REVISIONS].flatMap((revision) =>
  (['stdio', 'http', 'sse'] as const)
    .filter((transport) => transport !== 'sse' || REVISIONS[revision].era === 'legacy')
    .map((transport) => ({ revision, transport, heading: '' })),
);
