import { isObject, type JsonObject } from '../../../jsonrpc/message.ts';
import { Method } from '../../../protocol/methods.ts';
import type { RevisionProfile } from '../../../protocol/revisions.ts';
import { plainForm } from './forms.ts';
import type { Room } from './room.ts';
import { shapeSampling } from './sampling.ts';
import { inside, without } from '../../../jsonrpc/shape.ts';

/** A question in the form that a client's revision knows. */
export interface LegacyQuestion {
  readonly params: JsonObject;
  /** Converts the client's answer to the form that the question asked for. Undefined if both forms are the same. */
  readonly restore?: (answer: JsonObject) => JsonObject;
}

/**
 * Converts a question to its form in a handshake revision. The client's capabilities decide whether it may be asked at
 * all. Answers to sampling and roots requests need no conversion.
 *
 * @param room what the question may take. It takes it even if it does not fit.
 * @throws RpcError −32601 if the revision does not have this question, −32603 if its form is malformed, or becomes too large.
 */
export function toLegacyQuestion(
  method: string,
  params: JsonObject,
  profile: RevisionProfile,
  room: Room,
): LegacyQuestion {
  if (method === Method.CreateMessage) return { params: shapeSampling(params, profile, room) };
  if (method !== Method.Elicit) return { params };
  return params['mode'] === 'url' ? { params: withElicitationId(params, profile) } : form(params, profile, room);
}

/**
 * Adds the id that 2025-11-25 requires, and only that revision defines (client/elicitation: URL Mode Elicitation
 * Requests).
 */
export function withElicitationId(params: JsonObject, { elicitationId }: RevisionProfile): JsonObject {
  if (!elicitationId || params['elicitationId'] !== undefined) return params;
  return { ...params, elicitationId: crypto.randomUUID() };
}

function form(params: JsonObject, { richForms, unknown: { properties } }: RevisionProfile, room: Room): LegacyQuestion {
  const bare = inside(without(params, properties.ElicitParams), 'requestedSchema', (schema) =>
    without(schema, properties.FormSchema),
  );
  const { requestedSchema } = bare;
  if (richForms || !isObject(requestedSchema)) return { params: bare };
  const { schema, restore } = plainForm(requestedSchema, room);
  return {
    params: { ...bare, requestedSchema: schema },
    restore: (answer) => inside(answer, 'content', restore),
  };
}
