import { existsSync, readFileSync } from 'node:fs';
import { Ajv, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { root } from '../support/process.ts';

type JsonObject = Record<string, any>;
type Side = 'client' | 'server';

/** The folder with the specification's schemas, beside the repository. */
const SPEC = `${root}../shared/spec`;
export const schemasPresent = existsSync(SPEC);

/** Results of methods whose name does not follow from that of the request. */
const EMPTY = new Set(['ping', 'logging/setLevel', 'resources/subscribe', 'resources/unsubscribe']);

/** The requests that may be answered with questions, from 2026-07-28 on. */
const CAN_REQUIRE_INPUT = new Set(['prompts/get', 'resources/read', 'tools/call']);

/** Errors whose data has a schema, in the revisions that have them. */
const ERRORS = new Map([
  [-32020, 'HeaderMismatchError'],
  [-32021, 'MissingRequiredClientCapabilityError'],
  [-32022, 'UnsupportedProtocolVersionError'],
  [-32042, 'URLElicitationRequiredError'],
]);

/** Checks messages against the JSON Schema of one revision of the specification. */
export class RevisionSchema {
  readonly revision: string;
  readonly #ajv: Ajv;
  readonly #key: 'definitions' | '$defs';
  readonly #definitions: Record<string, JsonObject>;
  /** The definition of a request or notification, by its sender and its method. */
  readonly #byMethod: Record<Side, Map<string, string>>;
  /** Whether results have a `resultType`, and questions are results. */
  readonly #sessionless: boolean;

  /** @param strict whether properties that the schema does not name are invalid, even if it does not forbid them */
  constructor(revision: string, { strict = false }: { strict?: boolean } = {}) {
    this.revision = revision;
    const schema = JSON.parse(readFileSync(`${SPEC}/${revision}/schema.json`, 'utf8'));
    if (strict) closeObjects(schema.$defs ?? schema.definitions);
    const options = { strict: false, validateFormats: false, allErrors: false };
    this.#ajv = schema.$schema.includes('2020-12') ? new Ajv2020(options) : new Ajv(options);
    this.#key = schema.$defs ? '$defs' : 'definitions';
    this.#definitions = schema[this.#key];
    this.#ajv.addSchema(schema, 'mcp');
    this.#byMethod = {
      client: this.#methodsOf('ClientRequest', 'ClientNotification'),
      server: this.#methodsOf('ServerRequest', 'ServerNotification'),
    };
    this.#sessionless = revision >= '2026-07-28';
  }

  /**
   * The problem of a message, or undefined.
   *
   * @param request finds the request that a response answers
   */
  check(message: JsonObject, from: Side, request: (id: unknown) => JsonObject | undefined): string | undefined {
    const { method, id } = message;
    if (typeof method === 'string') {
      const definition = this.#byMethod[from].get(method);
      if (definition === undefined) return `${method} is nothing that the ${from} sends in ${this.revision}`;
      const kind = id === undefined ? 'JSONRPCNotification' : 'JSONRPCRequest';
      return this.#against(kind, message) ?? this.#against(definition, message);
    }
    if ('error' in message) return this.#checkError(message);
    const wrong = this.#against(this.#name('JSONRPCResultResponse', 'JSONRPCResponse'), message);
    if (wrong !== undefined) return wrong;
    const asked = request(id);
    if (!asked) return `nothing was asked under id ${JSON.stringify(id)}`;
    const { result } = message;
    if (this.#sessionless) {
      const { resultType } = result;
      if (resultType === 'input_required') return this.#checkQuestions(asked, result);
      if (resultType !== 'complete') return `a result of type ${resultType}`;
    } else {
      // A handshake revision must not contain features of the newest revision.
      for (const key of ['resultType', 'ttlMs', 'cacheScope']) if (key in result) return `${key} in ${this.revision}`;
    }
    return this.#against(this.#resultOf(asked, from), result);
  }

  /** 2026-07-28, patterns/mrtr: Supported Requests, Server Requirements. */
  #checkQuestions({ method }: JsonObject, result: JsonObject): string | undefined {
    if (!CAN_REQUIRE_INPUT.has(method)) return `input_required as the result of ${method}`;
    if (!('inputRequests' in result) && !('requestState' in result)) return 'input_required without anything required';
    const questions = Object.values<JsonObject>(result['inputRequests'] ?? {});
    const envelope = questions.find((question) => 'id' in question || 'jsonrpc' in question);
    if (envelope) return `a question in an envelope of its own: ${JSON.stringify(envelope)}`;
    return this.#against('InputRequiredResult', result);
  }

  #checkError(message: JsonObject): string | undefined {
    // Before 2025-11-25, the schema has no error without an id. JSON-RPC requires one if the id could not be read.
    const named = 'id' in message || this.revision >= '2025-11-25' ? message : { ...message, id: 0 };
    const wrong = this.#against(this.#name('JSONRPCErrorResponse', 'JSONRPCError'), named);
    const definition = ERRORS.get(message['error'].code);
    if (wrong !== undefined || definition === undefined) return wrong;
    if (!this.#definitions[definition]) return `an error ${message['error'].code} in ${this.revision}`;
    return this.#against(definition, message);
  }

  #resultOf(request: JsonObject, from: Side): string {
    const { method, params } = request;
    const asker: Side = from === 'server' ? 'client' : 'server';
    const definition = this.#byMethod[asker].get(method);
    if (definition === undefined || EMPTY.has(method)) return 'EmptyResult';
    if (params?.task !== undefined && this.#definitions['CreateTaskResult']) return 'CreateTaskResult';
    return this.#name(definition.replace(/Request$/, 'Result'));
  }

  #name(...names: string[]): string {
    const found = names.find((name) => this.#definitions[name]);
    if (found === undefined) throw new Error(`The schema of ${this.revision} has no ${names.join(' or ')}`);
    return found;
  }

  #methodsOf(...unions: string[]): Map<string, string> {
    const methods = new Map<string, string>();
    for (const union of unions) {
      const definition = this.#definitions[union];
      // A union of one is that one. A union of none does not exist.
      const members: { $ref: string }[] = definition ? (definition['anyOf'] ?? [{ $ref: union }]) : [];
      for (const { $ref } of members) {
        const name = $ref.slice($ref.lastIndexOf('/') + 1);
        methods.set(this.#definitions[name]!['properties'].method.const, name);
      }
    }
    return methods;
  }

  #against(definition: string, value: unknown): string | undefined {
    const validate = this.#ajv.getSchema(`mcp#/${this.#key}/${definition}`) as ValidateFunction | undefined;
    if (!validate) throw new Error(`The schema of ${this.revision} has no ${definition}`);
    if (validate(value)) return undefined;
    return `no ${definition}: ${this.#ajv.errorsText(validate.errors)}: ${JSON.stringify(value).slice(0, 500)}`;
  }
}

/** Properties that may contain anything, although the schema names some members. */
const OPEN = new Set(['inputSchema', 'outputSchema', '_meta']);

/** Forbids unnamed properties, except in `_meta`. Schemas that are part of others stay open. */
function closeObjects(definitions: Record<string, JsonObject>): void {
  const parts = new Set<string>();
  for (const [, all] of JSON.stringify(definitions).matchAll(/"allOf":\[([^\]]*)\]/g))
    for (const [, name] of all!.matchAll(/\/(\w+)"/g)) parts.add(name!);
  const close = (schema: JsonObject): void => {
    const { properties, items, anyOf, additionalProperties } = schema;
    for (const inner of [items, additionalProperties, ...(anyOf ?? [])]) if (typeof inner === 'object') close(inner);
    if (properties === undefined) return;
    for (const [name, inner] of Object.entries<JsonObject>(properties)) if (!OPEN.has(name)) close(inner);
    if (additionalProperties !== undefined) return;
    schema['additionalProperties'] = false;
    // Older schemas leave out the JSON-RPC members of requests and notifications.
    schema['properties'] = { _meta: {}, ...(properties.method && { jsonrpc: {}, id: {} }), ...properties };
  };
  for (const [name, schema] of Object.entries(definitions)) if (!parts.has(name)) close(schema);
}

/**
 * The problems of all messages of one side.
 *
 * @param from the side whose messages are checked
 * @param said its messages, in order
 * @param heard the messages of the other side
 */
export function violations(
  schema: RevisionSchema,
  from: Side,
  said: readonly JsonObject[],
  heard: readonly JsonObject[],
): string[] {
  const requests = new Map(
    heard.filter(({ method, id }) => method !== undefined && id !== undefined).map((each) => [each['id'], each]),
  );
  return said
    .map((message) => schema.check(message, from, (id) => requests.get(id)))
    .filter((each) => each !== undefined);
}
