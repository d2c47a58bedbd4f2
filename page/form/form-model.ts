import { computed, signal, type ReadonlySignal } from '@preact/signals';
import { isObject } from '../../src/jsonrpc/message.ts';
import { JsonSchema } from '../../src/schema/json-schema.ts';
import { FormContext, pathText, Writer, type Path, type Slot } from './field.ts';
import { SchemaReader } from './flat-schema.ts';
import { makeField, type Field } from './make-field.ts';

/** A mistake at one place of the value. */
export interface Problem {
  readonly path: Path;
  /** Follows the path in a sentence: `is required`. */
  readonly message: string;
}

class Context extends FormContext {
  protected fieldOf(schema: unknown, slot: Slot, parent: Field | undefined): Field {
    return makeField(schema, slot, parent, this);
  }
}

/**
 * A form for one value by a JSON Schema of 2020-12 or draft-07: the arguments of a tool or prompt, or the answer to an
 * elicitation. It has no user interface; `SchemaForm` shows it.
 *
 * What is sent is what is shown. Texts are kept as typed, and numbers are sent as they are written. A default is shown
 * in its field and sent, except a null in an optional field, and a very long one. An optional field without text is not sent. Each field,
 * and the whole, can be replaced by its JSON text. Invalid JSON has `errors` and cannot be sent. A value that breaks
 * the schema has `problems`, but can be sent.
 *
 * Fields are made when they are needed, so the schema may be of any size and depth, and refer to itself.
 */
export class FormModel {
  /** The field for the whole value. Its JSON text is that of the whole form. */
  readonly root: Field;
  /** The value as JSON on one line. Undefined if there are errors. */
  readonly json: ReadonlySignal<string | undefined>;
  /** Why there is no JSON. */
  readonly errors: ReadonlySignal<readonly Problem[]>;
  /** What the schema does not allow: all properties that are missing, and the first other mistake. */
  readonly problems: ReadonlySignal<readonly Problem[]>;
  /** The messages of `errors` and `problems` for each field. */
  readonly messages: ReadonlySignal<ReadonlyMap<Field, readonly string[]>>;
  /** Whether the user has tried to send the value. The mistakes of all fields are shown then. */
  readonly attempted = signal(false);
  /** Why values are not checked by the schema. Undefined if they are. */
  readonly unchecked: string | undefined;
  readonly #schema: JsonSchema | undefined;

  constructor(schema: unknown) {
    try {
      if (isObject(schema)) this.#schema = new JsonSchema(schema, 'The schema');
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      this.unchecked = error.message;
    }
    this.root = new Context(new SchemaReader(schema)).make(schema, 'element', undefined);
    const written = computed(() => {
      const writer = new Writer(false);
      return { text: this.root.write(writer, 0), writer };
    });
    this.json = computed(() => (written.value.writer.errors.length > 0 ? undefined : written.value.text));
    this.errors = computed(() =>
      written.value.writer.errors.map(({ field, message }) => ({ path: field.path, message })),
    );
    this.problems = computed(() => {
      const missing = written.value.writer.missing.map(({ owner, name }) => {
        return { path: [...owner.path, name], message: 'is required' };
      });
      const known = new Set(missing.map(({ path }) => pathText(path)));
      return [...missing, ...this.#issues().filter(({ path }) => !known.has(pathText(path)))];
    });
    this.messages = computed(() => {
      const found = new Map<Field, string[]>();
      const add = (field: Field, message: string): void => {
        const messages = found.get(field);
        if (messages) messages.push(message);
        else found.set(field, [message]);
      };
      for (const { field, message } of written.value.writer.errors) add(field, message);
      for (const { path, message } of this.problems.value) {
        const { field, rest } = this.#locate(path);
        add(field, rest.length > 0 ? `${pathText(rest)} ${message}` : message);
      }
      return found;
    });
  }

  /**
   * The JSON to send, at the push of a button. Undefined if there are errors, or problems that were not accepted; then
   * the fields complain.
   *
   * @param anyway whether the user sends a value although the schema does not allow it.
   */
  submit(anyway = false): string | undefined {
    this.attempted.value = true;
    return anyway || this.problems.peek().length === 0 ? this.json.peek() : undefined;
  }

  /** Shows a value in the fields, or as text if the fields cannot show it or it is not JSON. */
  load(json: string): void {
    this.root.typeRaw(json);
    this.root.showFields();
  }

  #issues(): Problem[] {
    const json = this.json.value;
    const result = json === undefined ? undefined : this.#schema?.validate(JSON.parse(json));
    return (result?.issues ?? []).map(({ path = [], message }) => {
      const steps = path.map((step) => String(typeof step === 'object' ? step.key : step));
      return { path: steps, message };
    });
  }

  /** The innermost field on a path, and the rest of the path inside it. */
  #locate(path: Path): { field: Field; rest: Path } {
    let field = this.root;
    for (const [at, step] of path.entries()) {
      const child = field.raw.value === undefined ? field.childAt(String(step)) : undefined;
      if (!child) return { field, rest: path.slice(at) };
      field = child;
    }
    return { field, rest: [] };
  }
}
