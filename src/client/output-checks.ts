import { printableError } from '../base/printable.ts';
import { inShortTurns } from '../base/short-turns.ts';
import { quoting, shortText } from '../base/short-text.ts';
import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import { complaint } from '../schema/complaint.ts';
import type { JsonSchema } from '../schema/json-schema.ts';
import { ToolCatalog } from '../wire/tool-catalog.ts';
import { InvalidResultError } from './errors.ts';

/**
 * Checks tool results against the output schemas in the server's lists. The validator is loaded with the first check.
 */
export class OutputChecks {
  /** The output schemas. */
  readonly catalog: ToolCatalog<JsonObject>;
  /** Compiled output schemas; null if one cannot be used. */
  readonly #compiled = new WeakMap<JsonObject, JsonSchema | null>();
  readonly #onerror: (error: Error) => void;

  constructor(onerror: (error: Error) => void) {
    this.#onerror = onerror;
    this.catalog = new ToolCatalog<JsonObject>({
      keep: ({ outputSchema }) => (isObject(outputSchema) ? outputSchema : undefined),
      ontoolarge: (name) =>
        onerror(
          printableError(
            quoting`Results of the tool ${name} are not checked: the output schemas in the list are too large`,
          ),
        ),
    });
  }

  /**
   * Checks the structured content of a result (server/tools: Output Schema). Results are not checked if no list has
   * shown the tool, if the result is an error, or if the schema cannot be used, which is reported once.
   *
   * @throws InvalidResultError if it is missing or does not match the schema.
   */
  async check(name: string, result: JsonObject): Promise<void> {
    const output = this.catalog.known(name);
    if (!output || result['isError'] === true) return;
    const { structuredContent } = result;
    if (structuredContent === undefined) {
      throw new InvalidResultError(
        quoting`The tool ${name} has an output schema, but its result has no structured content`,
      );
    }
    if (this.#compiled.get(output) === null) return;
    let issues: ReturnType<JsonSchema['validate']>['issues'];
    try {
      const schema = this.#compiled.get(output) ?? (await this.#compile(name, output));
      ({ issues } = await inShortTurns(() => schema.validate(structuredContent), this));
    } catch (error) {
      // Another result may have been checked meanwhile.
      if (this.#compiled.get(output) === null) return;
      this.#compiled.set(output, null);
      const { message } = error as Error;
      return this.#onerror(
        printableError(`Results of the tool ${shortText(name)} are not checked: ${message}`, { cause: error }),
      );
    }
    if (issues)
      throw new InvalidResultError(
        `The result of the tool ${shortText(name)} does not match its output schema: ${complaint(issues)}`,
      );
  }

  async #compile(name: string, output: JsonObject): Promise<JsonSchema> {
    const { JsonSchema } = await import('../schema/json-schema.ts');
    const schema = await inShortTurns(
      () => new JsonSchema(output, quoting`The output schema of the tool ${name}`),
      this,
    );
    this.#compiled.set(output, schema);
    return schema;
  }
}
