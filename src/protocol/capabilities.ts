import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { Method } from './methods.ts';
import type { RevisionProfile } from './revisions.ts';

/**
 * The client capability that a question needs but the client has not declared. Undefined if the question may be sent.
 * Capabilities that the client's revision does not have are ignored. Questions that MCP does not define need no
 * capability.
 */
export function missingCapability(
  method: string,
  params: JsonObject,
  capabilities: JsonObject,
  profile: RevisionProfile,
): string | undefined {
  switch (method) {
    case Method.ListRoots:
      return isObject(capabilities['roots']) ? undefined : 'roots';
    case Method.CreateMessage: {
      const { sampling } = capabilities;
      if (!isObject(sampling)) return 'sampling';
      // Servers MUST NOT send tool-enabled requests to clients without `sampling.tools` (2025-11-25, client/sampling: Capabilities).
      const withTools = params['tools'] !== undefined || params['toolChoice'] !== undefined;
      return withTools && !(profile.samplingFeatures && isObject(sampling['tools'])) ? 'sampling.tools' : undefined;
    }
    case Method.Elicit: {
      const { elicitation } = capabilities;
      if (!isObject(elicitation) || profile.elicitation === 'none') return 'elicitation';
      if (params['mode'] === 'url') {
        return isObject(elicitation['url']) && profile.elicitation === 'url' ? undefined : 'elicitation.url';
      }
      if (profile.elicitation === 'form') return undefined;
      // An empty object means form mode (2025-11-25, client/elicitation: Capabilities).
      return isObject(elicitation['url']) && !isObject(elicitation['form']) ? 'elicitation.form' : undefined;
    }
    default:
      return undefined;
  }
}
