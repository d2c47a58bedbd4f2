import type { StandardSchemaV1 } from '@standard-schema/spec';
import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { CAN_REQUIRE_INPUT, Method } from '../../protocol/methods.ts';
import type { Revision } from '../../protocol/revisions.ts';
import { JsonSchema } from '../../schema/json-schema.ts';
import { otherSide, type Side } from '../model/requests.ts';

/** The unions of what each side sends. */
const SENT: Readonly<Record<Side, readonly string[]>> = {
  client: ['ClientRequest', 'ClientNotification'],
  server: ['ServerRequest', 'ServerNotification'],
};

/** Requests whose result has no definition of its own. */
const EMPTY: ReadonlySet<string> = new Set([Method.Ping, Method.SetLevel, Method.Subscribe, Method.Unsubscribe]);

/** Errors whose data has a definition. */
const ERRORS: ReadonlyMap<unknown, string> = new Map([
  [-32020, 'HeaderMismatchError'],
  [-32021, 'MissingRequiredClientCapabilityError'],
  [-32022, 'UnsupportedProtocolVersionError'],
  [-32042, 'URLElicitationRequiredError'],
]);

/** The specification's JSON Schema of one revision. */
export class RevisionSchema {
  readonly revision: Revision;
  readonly #definitions: JsonObject;
  readonly #schema: JsonSchema;
  /** The definitions of requests and notifications, by their sender and their method. */
  readonly #byMethod: Readonly<Record<Side, ReadonlyMap<string, string>>>;

  /** @param json has one property for each definition. */
  constructor(revision: Revision, json: JsonObject) {
    this.revision = revision;
    this.#definitions = (json['$defs'] ?? json['definitions']) as JsonObject;
    this.#schema = new JsonSchema(json, `the schema of ${revision}`);
    this.#byMethod = { client: this.#methodsOf('client'), server: this.#methodsOf('server') };
  }

  /** Whether the revision defines a request or notification of this side. */
  defines(method: string, from: Side): boolean {
    return this.#byMethod[from].has(method);
  }

  has(definition: string): boolean {
    return Object.hasOwn(this.#definitions, definition);
  }

  /** What is wrong with a request or notification. Undefined if nothing is, or if the revision does not define it. */
  checkCall(message: JsonObject, from: Side): string | undefined {
    const definition = this.#byMethod[from].get(String(message['method']));
    return definition === undefined ? undefined : this.check(definition, message);
  }

  /**
   * What is wrong with the result of a request. Undefined if nothing is, or if there is no definition.
   *
   * @param asker who sent the request.
   */
  checkResult(
    result: unknown,
    request: { method: string; params?: JsonObject | undefined },
    asker: Side,
  ): string | undefined {
    const definition = this.#resultOf(result, request, asker);
    return definition === undefined ? undefined : this.check(definition, result);
  }

  /** What is wrong with the data of an error. */
  checkError(message: JsonObject): string | undefined {
    const { error } = message;
    const definition = isObject(error) ? ERRORS.get(error['code']) : undefined;
    return definition !== undefined && this.has(definition) ? this.check(definition, message) : undefined;
  }

  /** What is wrong with a value, by a definition of the schema. */
  check(definition: string, value: unknown): string | undefined {
    const { issues } = this.#schema.validate({ [definition]: value });
    return issues && `${definition}: ${shown(issues)}`;
  }

  #resultOf(
    result: unknown,
    { method, params }: { method: string; params?: JsonObject | undefined },
    asker: Side,
  ): string | undefined {
    if (EMPTY.has(method)) return 'EmptyResult';
    const definition = this.#byMethod[asker].get(method);
    if (definition === undefined) return undefined;
    if (isObject(result)) {
      const { resultType } = result;
      if (resultType === 'input_required' && CAN_REQUIRE_INPUT.has(method) && this.has('InputRequiredResult'))
        return 'InputRequiredResult';
      // The result of an extension.
      if (resultType !== undefined && resultType !== 'complete' && this.has('ResultType')) return undefined;
    }
    if (isObject(params?.['task']) && this.has('CreateTaskResult')) return 'CreateTaskResult';
    return [definition.replace(/Request$/, 'Result')].find((name) => this.has(name));
  }

  #methodsOf(side: Side): Map<string, string> {
    const methods = new Map<string, string>();
    for (const union of SENT[side]) {
      const definition = this.#definitions[union] as JsonObject | undefined;
      // A union of one is that one. A union of none does not exist.
      const members = definition ? ((definition['anyOf'] as { $ref: string }[] | undefined) ?? [{ $ref: union }]) : [];
      for (const { $ref } of members) {
        const name = $ref.slice($ref.lastIndexOf('/') + 1);
        const properties = (this.#definitions[name] as JsonObject)['properties'] as JsonObject;
        methods.set((properties['method'] as { const: string }).const, name);
      }
    }
    return methods;
  }

  /** The side that may send a method, if this one may not. */
  senderOf(method: string, notBy: Side): Side | undefined {
    return this.defines(method, otherSide(notBy)) && !this.defines(method, notBy) ? otherSide(notBy) : undefined;
  }
}

/** The first mistakes. A union has those of each of its members. */
function shown(issues: readonly StandardSchemaV1.Issue[]): string {
  const texts = issues.slice(0, 3).map(({ path = [], message }) => {
    const where = path.slice(1).map((step) => String(typeof step === 'object' ? step.key : step));
    return where.length === 0 ? message : `${where.join('.')} ${message}`;
  });
  return [...new Set(texts)].join('; ');
}
