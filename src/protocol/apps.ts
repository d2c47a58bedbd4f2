/** The vocabulary of MCP Apps, the extension `io.modelcontextprotocol/ui` (revision 2026-01-26). */

/** The extension, as clients declare it in `extensions`. */
export const APPS_EXTENSION = 'io.modelcontextprotocol/ui';

/** The type of a resource that is an app. */
export const APP_TYPE = 'text/html;profile=mcp-app';
