/** A finding in traffic of well-known programs, which the text of the specification settles. */
export interface Doubtful {
  readonly rule: string;
  /** Whose traffic: the name of the test. */
  readonly who: RegExp;
  /** What the finding says. */
  readonly seen: RegExp;
  /** Why the finding is right, or does no harm. */
  readonly because: string;
}

export const DOUBTFUL: readonly Doubtful[] = [
  {
    rule: 'resource-not-found-code',
    who: /with (?:server 1\.x|server 2\.x.*) over/,
    seen: /^the code -32602/,
    because: 'The code SHOULD be −32002 up to 2025-11-25 (server/resources). The official servers send −32602.',
  },
  {
    rule: 'resource-not-found-code',
    who: /with server-everything over/,
    seen: /^the code -32603/,
    because: 'The code SHOULD be −32002 up to 2025-11-25 (server/resources). This server throws an error of its own.',
  },
  {
    rule: 'sse-priming-event',
    who: /with server (?:1\.x|2\.x.*) over http/,
    seen: /without an id/,
    because:
      'A stream SHOULD begin with an event id (2025-11-25, basic/transports). Without an event log, these servers send none.',
  },
];
