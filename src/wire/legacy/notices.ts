import type { JsonObject } from '../../jsonrpc/message.ts';
import { Notice } from '../../protocol/methods.ts';
import type { RevisionProfile } from '../../protocol/revisions.ts';
import { without } from '../../jsonrpc/shape.ts';

/** Whether a notification may be sent to a client of a revision. One that no revision has is its sender's business. */
export function knowsNotice(method: string, { unknown: { notifications } }: RevisionProfile): boolean {
  return !notifications.has(method);
}

/** The parameters of a notification as a revision knows them. Often the same object. */
export function toLegacyNotice(
  method: string,
  params: JsonObject | undefined,
  { unknown: { properties } }: RevisionProfile,
): JsonObject | undefined {
  return method === Notice.Progress && params ? without(params, properties.ProgressParams) : params;
}
