import { isObject } from '../jsonrpc/message.ts';
import { Meta } from './methods.ts';

/**
 * Whether a message contains its revision, as in revisions without sessions (2026-07-28, versioning: Backward
 * Compatibility).
 */
export function saysItsRevision(message: unknown): boolean {
  if (!isObject(message) || !isObject(message['params'])) return false;
  const meta: unknown = message['params']['_meta'];
  return isObject(meta) && meta[Meta.ProtocolVersion] !== undefined;
}
