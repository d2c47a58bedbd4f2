import type { JsonObject } from '../../../jsonrpc/message.ts';
import { NotificationMethod } from '../../../protocol/methods.ts';
import type { RevisionProfile } from '../../../protocol/revisions.ts';
import { without } from '../../../jsonrpc/shape.ts';

/** Whether a client of a revision may receive a notification. Methods that no revision defines always pass. */
export function knowsNotice(method: string, { unknown: { notifications } }: RevisionProfile): boolean {
  return !notifications.has(method);
}

/** Converts a notification's parameters to their form in a revision. Often returns the same object. */
export function toLegacyNotice(
  method: string,
  params: JsonObject | undefined,
  { unknown: { properties } }: RevisionProfile,
): JsonObject | undefined {
  return method === NotificationMethod.Progress && params ? without(params, properties.ProgressParams) : params;
}
