import { Refusal } from '../core/refusal.ts';
import { isObject, isRequestId, type JsonObject, type RequestId } from '../jsonrpc/message.ts';
import { Meta } from '../protocol/methods.ts';

/** The longest progress token, in characters. Each progress notification repeats it. */
const MAX_TOKEN = 1024;

/**
 * The progress token in the parameters of a request. Undefined if there is none.
 *
 * @throws Refusal if it is too long.
 */
export function progressTokenOf({ _meta: meta }: JsonObject): RequestId | undefined {
  const token: unknown = isObject(meta) ? meta[Meta.ProgressToken] : undefined;
  if (typeof token === 'string' && token.length > MAX_TOKEN)
    throw Refusal.params(`"progressToken" is longer than ${MAX_TOKEN} characters`);
  return isRequestId(token) ? token : undefined;
}
