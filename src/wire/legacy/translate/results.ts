import { shortText, shortJson } from '../../../base/short-text.ts';
import { ErrorCode, RpcError } from '../../../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../../../jsonrpc/message.ts';
import { constant, isConstant } from '../../../jsonrpc/stringify.ts';
import { Meta, Method } from '../../../protocol/methods.ts';
import type { RevisionProfile } from '../../../protocol/revisions.ts';
import { shapeContent } from './content.ts';
import { shapePrompt, shapeResource, shapeResourceTemplate, shapeTool } from './lists.ts';
import { withoutMeta } from '../../meta.ts';
import { shapeOutput } from './output.ts';
import { each, inside, put, without } from '../../../jsonrpc/shape.ts';

type Shape = (value: JsonObject, profile: RevisionProfile) => JsonObject;

const SHAPES: ReadonlyMap<string, Shape> = new Map<string, Shape>([
  // Shape the output first. Text that replaces an unknown block must not count as the text of the output.
  [Method.CallTool, (result, profile) => shapeContent(shapeOutput(result, profile), profile)],
  [Method.GetPrompt, shapeContent],
  [Method.ListTools, listOf('tools', shapeTool)],
  [Method.ListResources, listOf('resources', shapeResource)],
  [Method.ListResourceTemplates, listOf('resourceTemplates', shapeResourceTemplate)],
  [Method.ListPrompts, listOf('prompts', shapePrompt)],
]);

function listOf(name: string, shape: Shape): Shape {
  return (result, profile) =>
    put(
      result,
      name,
      each(result[name], (value) => shape(value, profile)),
    );
}

/** Converted results that never change, by revision and result. */
const made = new WeakMap<RevisionProfile, WeakMap<JsonObject, JsonObject>>();

/**
 * Converts a result to its form in a handshake revision. Unknown content becomes the nearest content that the revision
 * knows, or is removed if there is none. For example, a title is removed where only a name exists, because programs may
 * use the name as an identifier. `_meta` stays, and so do fields that no revision defines. Often returns the same
 * object. A constant result always converts to the same object, which is constant too.
 *
 * @throws RpcError −32603 if the revision does not have this kind of result.
 */
export function toLegacyResult(result: JsonObject, method: string, profile: RevisionProfile): JsonObject {
  if (!isConstant(result)) return shapeResult(result, method, profile);
  let known = made.get(profile);
  if (known === undefined) made.set(profile, (known = new WeakMap()));
  let shaped = known.get(result);
  if (shaped === undefined) {
    shaped = shapeResult(result, method, profile);
    known.set(result, shaped === result ? result : constant(shaped));
  }
  return shaped;
}

function shapeResult(result: JsonObject, method: string, profile: RevisionProfile): JsonObject {
  const { resultType } = result;
  if (resultType !== undefined && resultType !== 'complete') {
    throw new RpcError(
      ErrorCode.InternalError,
      `${shortText(method)} was answered with a result of type ${shortJson(resultType)}, which revision ${profile.revision} does not have`,
    );
  }
  const bare = without(withoutMeta(result, Meta.ServerInfo), profile.unknown.properties.Result);
  return SHAPES.get(method)?.(bare, profile) ?? bare;
}

/** The answer to `initialize`, from a service's description of itself (2025-11-25, basic/lifecycle: Initialization). */
export function toInitializeResult(discovered: JsonObject, profile: RevisionProfile): JsonObject {
  const told = {
    protocolVersion: profile.revision,
    capabilities: discovered['capabilities'] ?? {},
    serverInfo: discovered['_meta']?.[Meta.ServerInfo] ?? { name: 'unnamed', version: '0' },
    ...(discovered['instructions'] === undefined ? {} : { instructions: discovered['instructions'] }),
  };
  const named = inside(told, 'serverInfo', (info) => without(info, profile.unknown.properties.Implementation));
  return inside(named, 'capabilities', (capabilities) => shapeCapabilities(capabilities, profile));
}

function shapeCapabilities(capabilities: JsonObject, { unknown: { properties } }: RevisionProfile): JsonObject {
  const known = without(capabilities, properties.ServerCapabilities);
  const shaped = inside(known, 'extensions', (extensions) => without(extensions, properties.Extensions));
  const { extensions } = shaped;
  return isObject(extensions) && Object.keys(extensions).length === 0 ? without(shaped, ['extensions']) : shaped;
}
