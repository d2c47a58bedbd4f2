import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { McpErrorCode } from '../../protocol/errors.ts';
import { Meta, Method } from '../../protocol/methods.ts';
import { onPage } from '../clauses.ts';
import { onEvent, type WireRule } from '../rule.ts';
import { shown } from './shown.ts';

/** Labels with dots, a slash, and a name (basic: `_meta`). */
const KEY =
  /^(?:[a-z](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z](?:[a-z0-9-]*[a-z0-9])?)*\/)?(?:[a-z0-9](?:[a-z0-9_.-]*[a-z0-9])?)?$/i;

/** UTF-16 code units. */
const MAX_KEY = 1000;

/** A prefix whose second label is `modelcontextprotocol` or `mcp`. */
const RESERVED = /^[^/.]+\.(?:modelcontextprotocol|mcp)(?:\.[^/]*)?\//i;

/** What 2026-07-28 requires of every request and result, and the keys of `_meta`. */
export const META_RULES: readonly WireRule[] = [
  onEvent('message', {
    id: 'request-meta-missing',
    area: 'lifecycle',
    severity: 'error',
    clauses: {
      '2026-07-28':
        'basic/index 50; basic/patterns/mrtr 2; server/prompts 1; server/resources 1; server/tools 1; server/utilities/completion 1; server/utilities/pagination 1; client/elicitation 7; client/sampling 9; client/roots 3',
    },
    right: 'Every request names its revision and the capabilities of its client in `_meta`.',
    inSchema: true,
    check: ({ kind, from, meta, method }) => {
      if (kind !== 'request' || from !== 'client') return undefined;
      const missing = [Meta.ProtocolVersion, Meta.ClientCapabilities].find((key) => meta[key] === undefined);
      return missing === undefined || `${method} without ${missing}`;
    },
  }),
  onEvent('message', {
    id: 'request-client-info',
    area: 'lifecycle',
    severity: 'warning',
    clauses: { '2026-07-28': 'basic/index 53' },
    right: 'A client sends its identity with every request.',
    check: ({ kind, from, meta, method }) =>
      kind === 'request' && from === 'client'
        ? meta[Meta.ClientInfo] !== undefined || `${method} without ${Meta.ClientInfo}`
        : undefined,
  }),
  onEvent('message', {
    id: 'result-server-info',
    area: 'lifecycle',
    severity: 'warning',
    clauses: { '2026-07-28': 'basic/index 57; server/discover 3' },
    right: "Every result has the server's identity in `_meta`.",
    check: ({ kind, from, meta, about }) =>
      kind === 'result' && from === 'server' && about
        ? meta[Meta.ServerInfo] !== undefined || `the result of ${about.method} without ${Meta.ServerInfo}`
        : undefined,
  }),
  onEvent('message', {
    id: 'result-type-missing',
    area: 'json-rpc',
    severity: 'error',
    clauses: { '2026-07-28': 'basic/index 8' },
    right: 'A result has a `resultType`.',
    inSchema: true,
    check: ({ kind, from, result, about }) =>
      kind === 'result' && from === 'server' && about
        ? result['resultType'] !== undefined || `the result of ${about.method} without resultType`
        : undefined,
  }),
  onEvent('message', {
    id: 'result-type-unknown',
    area: 'json-rpc',
    severity: 'error',
    clauses: { '2026-07-28': 'basic/index 9,10; extensions/tasks 1,7' },
    right: 'The type of a result is `complete`, `input_required`, or a type of an extension that the client declared.',
    inSchema: true,
    check: ({ kind, from, result: { resultType }, clientCapabilities }) => {
      if (kind !== 'result' || from !== 'server' || resultType === undefined) return undefined;
      if (resultType === 'complete' || resultType === 'input_required') return true;
      if (clientCapabilities === undefined || Object.keys(clientCapabilities['extensions'] ?? {}).length > 0)
        return undefined;
      return `"resultType": ${shown(resultType)}, without an extension`;
    },
  }),
  onEvent('message', {
    id: 'meta-key',
    area: 'json-rpc',
    severity: 'error',
    clauses: onPage('basic/index', [undefined, undefined, '16,17,18', '24,25,27', '46,47,49']),
    right: 'A key of `_meta` is a name, with or without a prefix of labels that ends with a slash.',
    check: ({ meta }) => {
      const keys = Object.keys(meta);
      if (keys.length === 0) return undefined;
      // A longer key would take long to search.
      const wrong = keys.find((key) => key.length > MAX_KEY || !KEY.test(key));
      return wrong === undefined || `the key ${shown(wrong)}`;
    },
  }),
  onEvent('message', {
    id: 'meta-key-reserved',
    area: 'json-rpc',
    severity: 'warning',
    clauses: onPage('basic', [undefined, undefined, '', '', '']),
    right:
      'Prefixes whose second label is `modelcontextprotocol` or `mcp` are only for keys that the specification has.',
    check: ({ meta }) => {
      const keys = Object.keys(meta).filter((key) => RESERVED.test(key));
      if (keys.length === 0) return undefined;
      const wrong = keys.find((key) => !key.startsWith('io.modelcontextprotocol/'));
      return wrong === undefined || `the key ${shown(wrong)}`;
    },
  }),
  onEvent('message', {
    id: 'meta-trace-context',
    area: 'json-rpc',
    severity: 'error',
    clauses: { '2026-07-28': 'basic/index 61' },
    right: '`traceparent` in `_meta` has the format of W3C Trace Context.',
    check: ({ meta: { traceparent } }) =>
      traceparent === undefined
        ? undefined
        : (typeof traceparent === 'string' && /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}/.test(traceparent)) ||
          `"traceparent": ${shown(traceparent)}`,
  }),
  onEvent('message', {
    id: 'error-code-undefined',
    area: 'json-rpc',
    severity: 'error',
    clauses: { '2026-07-28': 'basic/index 18,20' },
    right: 'Of the codes from −32099 to −32020, only −32020, −32021 and −32022 are used, and −32002 is no longer used.',
    check: ({ kind, error: { code } }) => {
      if (kind !== 'error' || typeof code !== 'number') return undefined;
      const isUndefined = code >= -32099 && code <= -32020 && ![-32020, -32021, -32022].includes(code);
      return !(isUndefined || code === -32002) || `the code ${code}`;
    },
  }),
  onEvent('message', {
    id: 'error-code-meaning',
    area: 'json-rpc',
    severity: 'error',
    clauses: { '2026-07-28': 'basic/index 19' },
    right:
      '−32020 is about HTTP headers, −32021 about capabilities that the request does not declare, and −32022 about a revision that the server does not support.',
    check: ({ kind, from, error: { code, data }, about, carriage, clientCapabilities }) => {
      if (kind !== 'error' || from !== 'server') return undefined;
      if (code === McpErrorCode.HeaderMismatch) return carriage !== 'stdio' || 'the code -32020 over stdio';
      if (!isObject(data) || !about) return undefined;
      if (code === McpErrorCode.UnsupportedProtocolVersion) {
        const named: unknown = about.params?.['_meta']?.[Meta.ProtocolVersion];
        if (named === undefined || !Array.isArray(data['supported'])) return undefined;
        return !data['supported'].includes(named) || `the code -32022 for ${shown(named)}, which is in data.supported`;
      }
      const required: unknown = data['requiredCapabilities'];
      if (code !== McpErrorCode.MissingRequiredClientCapability || !isObject(required) || !clientCapabilities)
        return undefined;
      const isMissing = !includes(clientCapabilities, required);
      return isMissing || `the code -32021 for ${shown(required)}, which the request declares`;
    },
  }),
  onEvent('message', {
    id: 'error-code-own',
    area: 'json-rpc',
    severity: 'warning',
    clauses: { '2026-07-28': 'basic/index 15,16,22' },
    right: 'Own error codes are outside the range that JSON-RPC reserves, −32768 to −32000.',
    check: ({ kind, error: { code } }) => {
      if (kind !== 'error' || typeof code !== 'number' || code === -32002) return undefined;
      const isKnown = [-32700, -32600, -32601, -32602, -32603].includes(code) || (code >= -32099 && code <= -32020);
      return isKnown || code < -32768 || code > -32000 || `the code ${code}`;
    },
  }),
  onEvent('message', {
    id: 'discover-revision',
    area: 'lifecycle',
    severity: 'error',
    clauses: { '2026-07-28': 'basic/versioning 1' },
    right: 'A server that answers a request of a revision lists this revision in `server/discover`.',
    check: ({ kind, from, about, result, revisions }) => {
      if (kind !== 'result' || from !== 'server' || about?.method !== Method.Discover) return undefined;
      const { supportedVersions } = result;
      if (!Array.isArray(supportedVersions)) return undefined;
      return supportedVersions.includes(revisions[0]) || `supportedVersions ${shown(supportedVersions)}`;
    },
  }),
];

/** Whether all members of an object are in another one. */
function includes(whole: JsonObject, part: JsonObject): boolean {
  return Object.entries(part).every(([key, value]) => {
    const own: unknown = whole[key];
    return isObject(value) && isObject(own) ? includes(own, value) : own !== undefined;
  });
}
