/** Error codes that MCP adds to those of JSON-RPC. */
export const McpErrorCode = {
  /** Up to 2025-11-25 (server/resources: Error Handling). */
  ResourceNotFound: -32002,
  /** 2025-11-25 (client/elicitation: URL Elicitation Required Error). */
  UrlElicitationRequired: -32042,
  /** From 2026-07-28 (basic: Error Codes). */
  HeaderMismatch: -32020,
  MissingRequiredClientCapability: -32021,
  UnsupportedProtocolVersion: -32022,
} as const;

/**
 * Our own, for a caller that asks too often: outside of what JSON-RPC reserves (2026-07-28, basic: Error Codes), and the
 * HTTP status that says the same.
 */
export const RATE_LIMITED = 429;
