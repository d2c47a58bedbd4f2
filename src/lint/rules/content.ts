import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { Method } from '../../protocol/methods.ts';
import { BEFORE_2025_06_18, clauses, everywhere, onPage } from '../clauses.ts';
import type { MessageEvent } from '../model/events.ts';
import { onEvent, type WireRule } from '../rule.ts';
import { duplicate } from './duplicate.ts';
import { first } from './first.ts';
import { shown } from './shown.ts';
import { isUri } from './uri.ts';

const MIME_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+*-]+(?:\s*;.*)?$/;
const URI_CLAUSES = clauses(
  'server/resources 7; server/prompts 4',
  'server/resources 7; server/prompts 5',
  'server/resources 5,8; server/prompts 5',
  'server/resources 5,8; server/prompts 5',
  'server/resources 8,13; server/prompts 8',
);

/** Content blocks, resources and prompts. */
export const CONTENT_RULES: readonly WireRule[] = [
  onEvent('message', {
    id: 'content-base64',
    area: 'resources',
    severity: 'error',
    clauses: clauses(
      'server/prompts 3,4; server/resources 9',
      'server/prompts 3,4,5; server/resources 9',
      'server/prompts 3,4,7; server/resources 10',
      'server/prompts 3,4,7; server/resources 10',
      'server/prompts 6,7,8; server/resources 15',
    ),
    right: 'Images, audio and binary resources are Base64 with padding.',
    check: (event) =>
      first(
        binariesOf(event),
        ({ data, what }) => isBase64(data) || `${what} that is not Base64: ${shown(data.slice(0, 40))}`,
      ),
  }),
  onEvent('message', {
    id: 'content-mime-type',
    area: 'resources',
    severity: 'error',
    clauses: onPage('server/prompts', ['3', '3,4', '3,4,6', '3,4,6', '6,7,8']),
    right: 'A MIME type has a type and a subtype.',
    check: (event) =>
      first(
        objectsOf(event).filter(({ mimeType }) => typeof mimeType === 'string'),
        ({ mimeType }) => MIME_TYPE.test(mimeType as string) || `"mimeType": ${shown(mimeType)}`,
      ),
  }),
  onEvent('message', {
    id: 'content-mime-kind',
    area: 'resources',
    severity: 'error',
    clauses: onPage('server/prompts', ['3', '3,4', '3,4', '3,4', '6,7']),
    right: 'The MIME type of an image begins with `image/`, and the MIME type of audio begins with `audio/`.',
    check: (event) =>
      first(
        objectsOf(event).filter(
          ({ type, mimeType }) => (type === 'image' || type === 'audio') && typeof mimeType === 'string',
        ),
        ({ type, mimeType }) => String(mimeType).startsWith(`${type}/`) || `${shown(mimeType)} for ${type}`,
      ),
  }),
  onEvent('message', {
    id: 'resource-uri',
    area: 'resources',
    severity: 'error',
    clauses: URI_CLAUSES,
    right: 'The URI of a resource is absolute, and has only the characters of RFC 3986.',
    check: (event) =>
      first(
        objectsOf(event).filter(({ uri }) => typeof uri === 'string'),
        ({ uri }) => isUri(uri as string) || `"uri": ${shown(uri)}`,
      ),
  }),
  onEvent('message', {
    id: 'resource-uri-duplicate',
    area: 'resources',
    severity: 'advice',
    clauses: everywhere('server/resources'),
    right: 'A list has each resource once.',
    check: (event) =>
      resultOf(event, Method.ListResources) ? duplicate(objectsIn(event.result['resources']), 'uri') : undefined,
  }),
  onEvent('message', {
    id: 'prompt-name-duplicate',
    area: 'prompts',
    severity: 'advice',
    clauses: everywhere('server/prompts'),
    right: 'A list has each prompt once.',
    check: (event) =>
      resultOf(event, Method.ListPrompts) ? duplicate(objectsIn(event.result['prompts']), 'name') : undefined,
  }),
  onEvent('message', {
    id: 'prompt-argument-duplicate',
    area: 'prompts',
    severity: 'advice',
    clauses: everywhere('server/prompts'),
    right: 'A prompt has each argument once.',
    check: (event) => {
      if (!resultOf(event, Method.ListPrompts)) return undefined;
      return first(objectsIn(event.result['prompts']), (prompt) => {
        const outcome = duplicate(objectsIn(prompt['arguments']), 'name');
        return typeof outcome === 'string' ? `the prompt ${shown(prompt['name'])} has ${outcome}` : outcome;
      });
    },
  }),
  onEvent('message', {
    id: 'resource-contents-empty',
    area: 'resources',
    severity: 'error',
    clauses: { '2026-07-28': 'server/resources 12' },
    right: 'A resource that does not exist is an error, and not a result without contents.',
    check: (event) => {
      const contents: unknown = event.result['contents'];
      if (!resultOf(event, Method.ReadResource) || !Array.isArray(contents)) return undefined;
      return contents.length > 0 || 'no contents';
    },
  }),
  onEvent('message', {
    id: 'resource-not-found-code',
    area: 'resources',
    severity: 'warning',
    clauses: onPage('server/resources', ['5', '5', '6', '6']),
    right: 'A resource that does not exist is the error −32002.',
    check: ({ kind, from, about, error: { code, message } }) => {
      if (kind !== 'error' || from !== 'server' || about?.method !== Method.ReadResource) return undefined;
      if (typeof message !== 'string' || !/\bnot found\b|does not exist|unknown resource/i.test(message))
        return undefined;
      return code === -32002 || `the code ${shown(code)} for ${shown(message)}`;
    },
  }),
  onEvent('message', {
    id: 'resource-updated-unsubscribed',
    area: 'notifications',
    severity: 'error',
    warningIn: BEFORE_2025_06_18,
    clauses: onPage('basic/lifecycle', ['14', '15', '15', '15']),
    right: 'A server that announces changes of resources has declared `resources.subscribe`.',
    check: ({ from, method, conversation: { serverCapabilities } }) => {
      if (from !== 'server' || method !== 'notifications/resources/updated' || !serverCapabilities) return undefined;
      return serverCapabilities['resources']?.subscribe === true || `${method} without resources.subscribe`;
    },
  }),
  onEvent('message', {
    id: 'completion-values',
    area: 'prompts',
    severity: 'error',
    clauses: everywhere('server/utilities/completion'),
    right: 'A completion has at most 100 values.',
    check: (event) => {
      const values: unknown = event.result['completion']?.values;
      if (!resultOf(event, Method.Complete) || !Array.isArray(values)) return undefined;
      return values.length <= 100 || `${values.length} values`;
    },
  }),
];

/** Whether an event is the server's result of a method. */
export function resultOf({ kind, from, about }: MessageEvent, method: string): boolean {
  return kind === 'result' && from === 'server' && about?.method === method;
}

/** Content blocks, entries of lists, and contents of resources in a result. */
function objectsOf({ kind, from, about, result }: MessageEvent): readonly JsonObject[] {
  if (kind !== 'result' || from !== 'server' || !about) return [];
  const blocks = [
    ...objectsIn(result['content']),
    ...objectsIn(result['messages']).flatMap(({ content }) => (isObject(content) ? [content] : [])),
  ];
  const embedded = blocks.flatMap(({ resource }) => (isObject(resource) ? [resource] : []));
  return [...blocks, ...embedded, ...objectsIn(result['contents']), ...objectsIn(result['resources'])];
}

/** The objects of a list. */
export function objectsIn(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function binariesOf(event: MessageEvent): readonly { readonly data: string; readonly what: string }[] {
  return objectsOf(event).flatMap(({ type, data, blob }) => {
    if ((type === 'image' || type === 'audio') && typeof data === 'string') return [{ data, what: type }];
    return typeof blob === 'string' ? [{ data: blob, what: 'a blob' }] : [];
  });
}

/** Whether a text is Base64 with padding. A loop over groups of four would take much memory for a long text. */
function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z\d+/]*={0,2}$/.test(text);
}
