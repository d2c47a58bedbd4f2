import type { RuleInfo, WireRule } from '../rule.ts';
import { CONTENT_RULES } from './content.ts';
import { HTTP_REQUEST_RULES } from './http-request.ts';
import { HTTP_RESPONSE_RULES } from './http-response.ts';
import { JSON_RPC_RULES } from './json-rpc.ts';
import { LIFECYCLE_RULES } from './lifecycle.ts';
import { LIST_RULES } from './lists.ts';
import { MCP_HEADER_RULES } from './mcp-headers.ts';
import { META_RULES } from './meta.ts';
import { NOTIFICATION_RULES } from './notifications.ts';
import { QUESTION_RULES } from './questions.ts';
import { SCHEMA_RULES } from './schema.ts';
import { SSE_RULES } from './sse.ts';
import { STDIO_RULES } from './stdio.ts';
import { TASK_CONTENT_RULES } from './task-content.ts';
import { TASK_RULES } from './tasks.ts';
import { TOOL_RULES } from './tools.ts';

/** All rules that judge the wire. Those of the schema come last, so that more telling ones are found first. */
export const WIRE_RULES: readonly WireRule[] = [
  ...JSON_RPC_RULES,
  ...LIFECYCLE_RULES,
  ...META_RULES,
  ...HTTP_REQUEST_RULES,
  ...HTTP_RESPONSE_RULES,
  ...MCP_HEADER_RULES,
  ...SSE_RULES,
  ...STDIO_RULES,
  ...NOTIFICATION_RULES,
  ...QUESTION_RULES,
  ...TOOL_RULES,
  ...CONTENT_RULES,
  ...LIST_RULES,
  ...TASK_RULES,
  ...TASK_CONTENT_RULES,
  ...SCHEMA_RULES,
];

/** All rules as data. */
export const RULES: readonly RuleInfo[] = WIRE_RULES.map(({ id, area, severity, warningIn, clauses, right }) => ({
  id,
  area,
  severity,
  warningIn,
  clauses,
  right,
}));
