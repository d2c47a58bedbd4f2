import { batch, signal, type ReadonlySignal } from '@preact/signals';
import { costOf } from '../ui/text-cost.ts';
import type { SchemaReader } from './flat-schema.ts';
import { compactJson, JsonMistake, parseJson, type JsonNode } from './json-text.ts';
import type { Field } from './make-field.ts';
import type { Shape } from './shape.ts';

export type Path = readonly (string | number)[];

/**
 * The place of a field. An `optional` or `required` property is not sent while nothing is typed. An `element` of a list
 * or map is always sent, because the user added it.
 */
export type Slot = 'optional' | 'required' | 'element';

/** A JSON value cannot be shown in the fields of a form. The message begins with the place. */
export class Misfit extends Error {}

/** How many fields one action of the user may add, and how deep, because a schema may refer to itself. */
const MAX_ADDED = 200;
const MAX_ADDED_DEPTH = 8;
/** How much one action shows of default values (see `costOf`). */
const MAX_DEFAULTS = 50_000;
/** The largest JSON value that is shown in fields. */
const MAX_FITTED = 20_000;

let ids = 0;

/** What the fields of one form share. */
export abstract class FormContext {
  readonly reader: SchemaReader;
  #acting = false;
  #filling = false;
  #depth = 0;
  #room = MAX_ADDED;
  #defaults = MAX_DEFAULTS;

  constructor(reader: SchemaReader) {
    this.reader = reader;
  }

  /** Makes the field of a schema. */
  protected abstract fieldOf(schema: unknown, slot: Slot, parent: Field | undefined): Field;

  make(schema: unknown, slot: Slot, parent: Field | undefined): Field {
    return this.adding(() => {
      this.#depth += 1;
      try {
        return this.fieldOf(schema, slot, parent);
      } finally {
        this.#depth -= 1;
      }
    });
  }

  /** Counts a new field, and returns its id. */
  register(): number {
    this.#room -= 1;
    return (ids += 1);
  }

  /** Runs an action that adds fields, which may add fields inside them. */
  adding<T>(action: () => T): T {
    if (this.#acting) return action();
    this.#acting = true;
    this.#room = MAX_ADDED;
    this.#defaults = MAX_DEFAULTS;
    this.reader.refill();
    try {
      return batch(action);
    } finally {
      this.#acting = false;
    }
  }

  /**
   * Runs an action that gives values to new fields. They do not take their defaults, because the values would replace
   * these at once.
   */
  filling(action: () => void): void {
    const outer = this.#filling;
    this.#filling = true;
    try {
      action();
    } finally {
      this.#filling = outer;
    }
  }

  get takesDefaults(): boolean {
    return !this.#filling;
  }

  /** Whether a new field may add the fields inside it by itself. */
  get expands(): boolean {
    return this.#depth <= MAX_ADDED_DEPTH && this.#room > 0;
  }

  /** Whether a default value may be shown. Those of one action share a limit, because a server chooses them. */
  takeDefault(json: string): boolean {
    const cost = costOf(json.replaceAll('\\n', '\n'), this.#defaults);
    if (cost > this.#defaults) return false;
    this.#defaults -= cost;
    return true;
  }

  /** The limits for the default value of a new field. */
  fittingDefault(): Fitting {
    return new Fitting(this.#room);
  }
}

/** Limits the work of showing one JSON value in fields. */
export class Fitting {
  /** Whether a value must match the fields plainly, to find the right branch of a union. */
  strict = false;
  #left: number;

  constructor(left = MAX_FITTED) {
    this.#left = left;
  }

  take(field: Field, count = 1): void {
    if ((this.#left -= count) < 0) throw misfit(field, 'has too many values for fields');
  }
}

/** Collects what is wrong while the fields are written as JSON. */
export class Writer {
  /** Several indented lines, with mistakes left as they were typed; or one line. */
  readonly indented: boolean;
  /** Why there is no JSON. */
  readonly errors: { readonly field: Field; readonly message: string }[] = [];
  /** The required properties that are absent. */
  readonly missing: { readonly owner: Field; readonly name: string }[] = [];

  constructor(indented: boolean) {
    this.indented = indented;
  }

  fail(field: Field, message: string, typed: string): string {
    this.errors.push({ field, message });
    return typed;
  }

  /** An object or list, whose members or items are given as JSON. */
  bracketed(open: string, parts: readonly string[], close: string, depth: number): string {
    if (!this.indented || parts.length === 0) return open + parts.join(',') + close;
    const line = `\n${'  '.repeat(depth)}`;
    return `${open}${line}  ${parts.join(`,${line}  `)}${line}${close}`;
  }

  named(name: string, text: string): string {
    return `${JSON.stringify(name)}:${this.indented ? ' ' : ''}${text}`;
  }
}

/**
 * What all fields have in common. What the user types is kept as typed, in signals that nothing else writes at the same
 * time.
 */
export abstract class AnyField<S extends Shape> {
  readonly shape: S;
  readonly slot: Slot;
  readonly parent: Field | undefined;
  /** Unique on the page. */
  readonly id: number;
  /** The JSON text that is shown in place of the fields. Undefined while the fields are shown. */
  readonly raw = signal<string | undefined>(undefined);
  readonly #rawError = signal<string | undefined>(undefined);
  /** Whether null is sent instead of the field's value. */
  readonly isNull = signal(false);
  /** Whether the user has visited the field. Its mistakes are shown only then. */
  readonly visited = signal(false);
  protected readonly context: FormContext;

  constructor(shape: S, slot: Slot, parent: Field | undefined, context: FormContext) {
    this.shape = shape;
    this.slot = slot;
    this.parent = parent;
    this.context = context;
    this.id = context.register();
  }

  /** Why the JSON text could not be shown in fields. */
  get rawError(): ReadonlySignal<string | undefined> {
    return this.#rawError;
  }

  /** The property names and indexes on the path from the whole value to this field. */
  get path(): Path {
    return this.parent ? [...this.parent.path, ...this.parent.stepTo(this.self)] : [];
  }

  /** The path from this field to one directly inside it. Empty for the branch of a union. */
  stepTo(_child: Field): Path {
    return [];
  }

  /** The field inside this one for a step of a path. */
  childAt(_step: string): Field | undefined {
    return undefined;
  }

  /** Replaces the fields by their JSON text. Mistakes stay in it as typed. */
  showRaw(): void {
    this.typeRaw(this.write(new Writer(true), 0) ?? '');
  }

  typeRaw(text: string): void {
    batch(() => {
      this.raw.value = text;
      this.#rawError.value = undefined;
    });
  }

  /** Replaces the JSON text by fields. If the fields cannot show it, the text stays, and `rawError` says why. */
  showFields(): void {
    const text = this.raw.peek();
    if (text === undefined) return;
    try {
      this.context.adding(() => {
        if (isBlank(text)) this.clear();
        else this.fill(parseJson(text), new Fitting());
      });
    } catch (error) {
      if (!(error instanceof Misfit || error instanceof JsonMistake)) throw error;
      this.#rawError.value = error.message;
    }
  }

  /**
   * Shows a value in the fields.
   *
   * @throws Misfit if the fields cannot show the value. Their state is then undefined, and the JSON text stays in their
   * place.
   */
  fill(node: JsonNode, fitting: Fitting): void {
    fitting.take(this.self);
    const isNull = this.shape.nullable && node.kind === 'null';
    if (!isNull) this.context.filling(() => this.read(node, fitting));
    this.#showFields(isNull);
  }

  /** Empties the field. It does not get its default again. */
  clear(): void {
    this.empty();
    this.#showFields(false);
  }

  /** The JSON of the field. Undefined if it is not sent. */
  write(writer: Writer, depth: number): string | undefined {
    const raw = this.raw.value;
    if (raw !== undefined) return this.#writeRaw(raw, writer);
    return this.isNull.value ? 'null' : this.writeFields(writer, depth);
  }

  protected abstract writeFields(writer: Writer, depth: number): string | undefined;
  protected abstract read(node: JsonNode, fitting: Fitting): void;
  protected abstract empty(): void;

  protected get self(): Field {
    return this as unknown as Field;
  }

  #showFields(isNull: boolean): void {
    this.isNull.value = isNull;
    this.raw.value = undefined;
    this.#rawError.value = undefined;
  }

  #writeRaw(raw: string, writer: Writer): string | undefined {
    if (isBlank(raw)) return this.slot === 'element' ? writer.fail(this.self, 'is empty', raw) : undefined;
    if (writer.indented) return raw;
    try {
      return compactJson(raw);
    } catch (error) {
      if (!(error instanceof JsonMistake)) throw error;
      return writer.fail(this.self, `is not JSON: ${error.message}`, raw);
    }
  }
}

/** A path as it is shown to the user: `a.b[0]`. The whole value is `the value`. */
export function pathText(path: Path): string {
  const steps = path.map((step, at) => {
    if (typeof step === 'number' || /^\d+$/.test(step)) return `[${step}]`;
    if (!/^[\w$-]+$/.test(step)) return `[${JSON.stringify(step)}]`;
    return at === 0 ? step : `.${step}`;
  });
  return steps.join('') || 'the value';
}

export function misfit(field: Field, message: string, ...inner: Path): Misfit {
  return new Misfit(`${pathText([...field.path, ...inner])} ${message}`);
}

function isBlank(text: string): boolean {
  return /^[ \t\r\n]*$/.test(text);
}
