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
    who: /with (?:@modelcontextprotocol\/server-everything|mcp-proxy|supergateway) over/,
    seen: /^the code -32603/,
    because: 'The code SHOULD be −32002 up to 2025-11-25 (server/resources). This server throws an error of its own.',
  },
  {
    rule: 'sse-priming-event',
    who: /with (?:server 1\.x|server 2\.x.*|supergateway) over http/,
    seen: /without an id/,
    because:
      'A stream SHOULD begin with an event id (2025-11-25, basic/transports). Without an event log, these servers send none.',
  },
  {
    rule: 'http-get-response',
    who: /with @antv\/mcp-server-chart over http/,
    seen: /^status 404$/,
    because:
      'A GET MUST be answered with an event stream or 405 (2025-11-25, basic/transports). This server sends 404.',
  },
  {
    rule: 'structured-content-text',
    who: /with @modelcontextprotocol\/server-filesystem over/,
    seen: /^no text block with the same JSON$/,
    because:
      'Structured content SHOULD also be sent as JSON in a text block (2025-11-25, server/tools). This server sends the bare text of its only member.',
  },
  {
    rule: 'task-get-stream',
    who: /with supergateway over http/,
    seen: /^an event stream for tasks\/get$/,
    because:
      'Servers SHOULD NOT answer `tasks/get` with an event stream (2025-11-25, basic/utilities/tasks). This one answers every request so.',
  },
];
