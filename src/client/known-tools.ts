import { isObject, type JsonObject } from '../jsonrpc/message.ts';
import type { PlainSchema } from '../protocol/plain-schema.ts';
import { InvalidResultError } from './errors.ts';
import type * as checks from './output-schema.ts';

/** Tools that are remembered. */
const MAX_TOOLS = 10_000;

type Checks = typeof checks;

interface KnownTool {
  readonly output: JsonObject;
  /** Null where its schema cannot be used. */
  schema: PlainSchema | null | undefined;
}

/** What the server's lists said of the results of its tools. What checks them is loaded with the first. */
export class KnownTools {
  readonly #tools = new Map<string, KnownTool>();
  readonly #onerror: (error: Error) => void;
  #checks: Checks | undefined;

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
    if (result['structuredContent'] === undefined) {
      throw new InvalidResultError(`The tool ${name} has an output schema, and its result no structured content`);
    }
    if (tool.schema === null) return;
    this.#checks ??= await import('./output-schema.ts');
    const { PlainSchema, refuse } = this.#checks;
    let issues: Parameters<Checks['refuse']>[2] | undefined;
    try {
      tool.schema ??= new PlainSchema(tool.output, `The output schema of the tool ${name}`);
      ({ issues } = tool.schema.validate(result['structuredContent']));
    } catch (error) {
      tool.schema = null;
      const { message } = error as Error;
      return this.#onerror(new Error(`Results of the tool ${name} are not checked: ${message}`, { cause: error }));
    }
    if (issues) refuse(name, 'does not pass its output schema', issues);
  }
}
