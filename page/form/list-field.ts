import { signal } from '@preact/signals';
import { AnyField, misfit, type Fitting, type FormContext, type Path, type Slot, type Writer } from './field.ts';
import type { JsonNode } from './json-text.ts';
import type { Field } from './make-field.ts';
import type { ListShape } from './shape.ts';

/** How many items can have fields. */
const MAX_ITEMS = 1_000;

/** A list: fields for the first items if the schema names them, and rows that the user adds. */
export class ListField extends AnyField<ListShape> {
  readonly kind = 'list';
  /** Whether it is sent. */
  readonly present = signal(false);
  readonly first = signal<readonly Field[]>([]);
  readonly rows = signal<readonly Field[]>([]);

  constructor(shape: ListShape, slot: Slot, parent: Field | undefined, context: FormContext) {
    super(shape, slot, parent, context);
    if (slot !== 'optional' && context.expands) this.include();
  }

  include(): void {
    this.context.adding(() => {
      const { first } = this.shape;
      if (this.first.peek().length === 0)
        this.first.value = first.map((schema) => this.context.make(schema, 'optional', this));
      this.present.value = true;
    });
  }

  exclude(): void {
    this.present.value = false;
  }

  get isFull(): boolean {
    return this.shape.rest === false || this.rows.value.length >= MAX_ITEMS;
  }

  /** Adds a row at the end. */
  add(): Field {
    return this.context.adding(() => {
      this.include();
      const row = this.context.make(this.shape.rest, 'element', this);
      this.rows.value = [...this.rows.peek(), row];
      return row;
    });
  }

  remove(row: Field): void {
    this.rows.value = this.rows.peek().filter((one) => one !== row);
  }

  /** Moves a row up (-1) or down (1). */
  move(row: Field, by: -1 | 1): void {
    const rows = this.rows.peek();
    const from = rows.indexOf(row);
    const other = rows[from + by];
    if (other) this.rows.value = rows.with(from, other).with(from + by, row);
  }

  override stepTo(child: Field): Path {
    return [[...this.first.peek(), ...this.rows.peek()].indexOf(child)];
  }

  override childAt(step: string): Field | undefined {
    return [...this.first.value, ...this.rows.value][Number(step)];
  }

  protected writeFields(writer: Writer, depth: number): string | undefined {
    if (!this.present.value) return undefined;
    const fields = [...this.first.value, ...this.rows.value];
    const texts = fields.map((field) => field.write(writer, depth + 1));
    const length = texts.findLastIndex((text) => text !== undefined) + 1;
    const parts = texts.slice(0, length).map((text, at) => {
      return text ?? writer.fail(fields[at]!, 'is empty, but a later item is not', '');
    });
    return writer.bracketed('[', parts, ']', depth);
  }

  protected read(node: JsonNode, fitting: Fitting): void {
    if (node.kind !== 'list') throw misfit(this, 'is not a list');
    const { first, rest } = this.shape;
    const others = node.items.slice(first.length);
    if (others.length > MAX_ITEMS) throw misfit(this, 'has too many items for fields');
    if (others.length > 0 && rest === false) throw misfit(this, 'is not in the schema', first.length);
    this.include();
    for (const [at, field] of this.first.peek().entries()) {
      const item = node.items[at];
      if (item) field.fill(item, fitting);
      else field.clear();
    }
    this.rows.value = [];
    for (const item of others) this.add().fill(item, fitting);
  }

  protected empty(): void {
    this.present.value = false;
    this.first.value = [];
    this.rows.value = [];
  }
}
