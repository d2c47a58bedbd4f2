import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { complaint } from '../protocol/complaint.ts';
import { PlainSchema } from '../protocol/plain-schema.ts';
import { refuseExternalReferences, subschemasOf } from '../protocol/subschemas.ts';
import { InvalidResultError } from './errors.ts';

/** Tools that are remembered. */
const MAX_TOOLS = 10_000;

interface KnownTool {
  readonly output: JsonObject;
  /** Null where its schema cannot be used. */
  schema: PlainSchema | null | undefined;
}

/**
 * What the server's lists said of the results of its tools.
 *
 * The schemas are a stranger's. What they refer to is never fetched, and patterns are not checked: a regular expression
 * can be made to take for ever.
 */
export class KnownTools {
  readonly #tools = new Map<string, KnownTool>();
  readonly #onerror: (error: Error) => void;

  constructor(onerror: (error: Error) => void) {
    this.#onerror = onerror;
  }

  /** Takes in a result of `tools/list`. */
  learn({ tools }: JsonObject): void {
    for (const tool of Array.isArray(tools) ? tools : []) {
      if (!isObject(tool) || typeof tool['name'] !== 'string') continue;
      const { name, outputSchema: output } = tool;
      if (!isObject(output)) this.#tools.delete(name);
      else if (this.#tools.size < MAX_TOOLS || this.#tools.has(name))
        this.#tools.set(name, { output, schema: undefined });
    }
  }

  forget(): void {
    this.#tools.clear();
  }

  /**
   * Checks the structured content of a result (server/tools: Output Schema). Nothing is checked of tools that no list has
   * shown, of results that are errors, and where the schema cannot be used, which is reported once.
   *
   * @throws InvalidResultError where it is missing or not as the schema says.
   */
  async check(name: string, result: JsonObject): Promise<void> {
    const tool = this.#tools.get(name);
    if (!tool || result['isError'] === true) return;
    if (tool.schema === undefined) tool.schema = this.#schemaOf(name, tool.output);
    if (tool.schema === null) return;
    if (result['structuredContent'] === undefined) {
      throw new InvalidResultError(`The tool ${name} has an output schema, and its result no structured content`);
    }
    let issues: Parameters<typeof complaint>[0] | undefined;
    try {
      ({ issues } = await tool.schema.validate(result['structuredContent']));
    } catch (error) {
      tool.schema = null;
      return this.#onerror(error as Error);
    }
    if (issues) {
      throw new InvalidResultError(`The result of the tool ${name} breaks its output schema: ${complaint(issues)}`);
    }
  }

  #schemaOf(name: string, output: JsonObject): PlainSchema | null {
    const owner = `The output schema of the tool ${name}`;
    try {
      const copy = structuredClone(output);
      const subschemas = subschemasOf(copy, owner);
      refuseExternalReferences(subschemas, owner);
      for (const { schema } of subschemas) {
        delete schema['pattern'];
        if (schema['patternProperties'] !== undefined) throw new TypeError(`${owner} has patternProperties`);
      }
      return new PlainSchema(copy, owner);
    } catch (error) {
      const { message } = error as Error;
      this.#onerror(new Error(`Results of the tool ${name} are not checked: ${message}`, { cause: error }));
      return null;
    }
  }
}
