import { evaluate, parse, type DocumentNode, type ValueNode } from '@humanwhocodes/momoa';

/** An error for a text that is not JSON. The message does not quote the text, which may be secret. */
export class JsonError extends Error {
  override readonly name = 'JsonError';
}

interface Position {
  readonly line: number;
  readonly column: number;
}

/**
 * Parses JSON as in editors' configuration files: comments, trailing commas and a byte order mark are allowed. If a key
 * occurs more than once, the last one counts.
 */
export class ConfigJson {
  readonly value: unknown;
  readonly #root: DocumentNode;

  /** @throws JsonError */
  constructor(text: string) {
    try {
      this.#root = parse(text.replace(/^\uFEFF/, ''), { mode: 'jsonc', allowTrailingCommas: true });
      this.value = evaluate(this.#root);
    } catch (error) {
      const { message, line, column } = error as Error & Partial<Position>;
      if (message.startsWith('Unexpected end')) throw new JsonError('this is not valid JSON: the file ends too early');
      if (line !== undefined && column !== undefined)
        throw new JsonError(`${written({ line, column })}: this is not valid JSON`);
      if (!(error instanceof RangeError)) throw error;
      throw new JsonError('this JSON is nested too deeply', { cause: error });
    }
  }

  /** The line and column of a key or a list item. If it does not exist, the position of its parent. */
  position(path: readonly (string | number)[]): string {
    let at: Step = { value: this.#root.body, loc: this.#root.body.loc };
    for (const key of path) {
      const next = stepInto(at.value, key);
      if (!next) break;
      at = next;
    }
    return written(at.loc.start);
  }
}

/** A member of an object or an item of a list, and where it starts. */
interface Step {
  readonly value: ValueNode;
  readonly loc: { readonly start: Position };
}

function stepInto(value: ValueNode, key: string | number): Step | undefined {
  if (value.type === 'Array') return value.elements[Number(key)];
  if (value.type !== 'Object') return undefined;
  return value.members.findLast(({ name }) => name.type === 'String' && name.value === key);
}

function written({ line, column }: Position): string {
  return `line ${line}, column ${column}`;
}
