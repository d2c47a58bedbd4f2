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
 * Everwire's code for a caller that sends too many requests. It is outside the range that JSON-RPC reserves (2026-07-28,
 * basic: Error Codes), and equals the HTTP status with this meaning.
 */
export const RATE_LIMITED = 429;
