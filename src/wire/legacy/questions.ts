import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { Method } from '../../protocol/methods.ts';
import type { RevisionProfile } from '../../protocol/revisions.ts';
import { plainForm } from './forms.ts';
import { shapeSampling } from './sampling.ts';
import { inside, without } from '../../jsonrpc/shape.ts';

/** A question as a client of some revision is asked it. */
export interface LegacyQuestion {
  readonly params: JsonObject;
  /** Makes of the client's answer what was asked for; without it they are the same. */
  readonly restore?: (answer: JsonObject) => JsonObject;
}

/**
 * A question of the waist as a handshake revision knows it; whether it may be asked at all, the client's capabilities
 * say. Answers to sampling and for roots are the same in every revision, or of the newest by being its simplest form.
 *
 * @throws RpcError −32601 where it cannot be asked in that revision, −32603 where its form is none.
 */
export function toLegacyQuestion(method: string, params: JsonObject, profile: RevisionProfile): LegacyQuestion {
  if (method === Method.CreateMessage) return { params: shapeSampling(params, profile) };
  if (method !== Method.Elicit) return { params };
  return params['mode'] === 'url' ? { params: visit(params, profile) } : form(params, profile);
}

/** An id is required in 2025-11-25, and told of nowhere else (client/elicitation: URL Mode Elicitation Requests). */
export function visit(params: JsonObject, { elicitationId }: RevisionProfile): JsonObject {
  if (!elicitationId || params['elicitationId'] !== undefined) return params;
  return { ...params, elicitationId: crypto.randomUUID() };
}

function form(params: JsonObject, { richForms, unknown: { properties } }: RevisionProfile): LegacyQuestion {
  const bare = inside(without(params, properties.ElicitParams), 'requestedSchema', (schema) =>
    without(schema, properties.FormSchema),
  );
  const { requestedSchema } = bare;
  if (richForms || !isObject(requestedSchema)) return { params: bare };
  const { schema, restore } = plainForm(requestedSchema);
  return {
    params: { ...bare, requestedSchema: schema },
    restore: (answer) => inside(answer, 'content', restore),
  };
}
