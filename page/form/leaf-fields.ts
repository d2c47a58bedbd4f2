import { batch, signal } from '@preact/signals';
import { AnyField, misfit, type Fitting, type FormContext, type Slot, type Writer } from './field.ts';
import { isJsonNumber, type JsonNode } from './json-text.ts';
import type { Field } from './make-field.ts';
import type { ChoiceShape, JsonShape, NumberShape, TextShape } from './shape.ts';

/** A string. The empty text is not sent, unless `sendsEmpty`. */
export class TextField extends AnyField<TextShape> {
  readonly kind = 'text';
  readonly text = signal('');
  readonly sendsEmpty = signal(false);
  /** Whether the input shows something that is no text yet, such as a date without its year. */
  readonly incomplete = signal(false);

  type(text: string, incomplete = false): void {
    batch(() => {
      this.text.value = text;
      this.incomplete.value = incomplete;
      this.isNull.value = false;
    });
  }

  protected writeFields(writer: Writer): string | undefined {
    if (this.incomplete.value) return writer.fail(this, 'is not complete', '');
    const text = this.text.value;
    return text !== '' || this.slot === 'element' || this.sendsEmpty.value ? JSON.stringify(text) : undefined;
  }

  protected read(node: JsonNode): void {
    if (node.kind !== 'string') throw misfit(this, 'is not a string');
    // A text area makes every line break a line feed.
    if (node.value.includes('\r')) throw misfit(this, 'has a carriage return, which no field can show');
    this.type(node.value);
    this.sendsEmpty.value = node.value === '';
  }

  protected empty(): void {
    this.type('');
    this.sendsEmpty.value = false;
  }
}

/** A number, which is sent as it is written. */
export class NumberField extends AnyField<NumberShape> {
  readonly kind = 'number';
  readonly text = signal('');

  type(text: string): void {
    batch(() => {
      this.text.value = text;
      this.isNull.value = false;
    });
  }

  protected writeFields(writer: Writer): string | undefined {
    const typed = this.text.value;
    const text = typed.trim();
    if (isJsonNumber(text)) return text;
    if (text !== '') return writer.fail(this, 'is not a number as JSON writes it, such as -1.5 or 2e3', typed);
    return this.slot === 'element' ? writer.fail(this, 'is empty', typed) : undefined;
  }

  protected read(node: JsonNode): void {
    if (node.kind !== 'number') throw misfit(this, 'is not a number');
    this.type(node.source);
  }

  protected empty(): void {
    this.type('');
  }
}

/**
 * One of several values. If a field must be sent and has only one possible value, that value is chosen from the start.
 */
export class ChoiceField extends AnyField<ChoiceShape> {
  readonly kind = 'choice';
  /** The position of the chosen option, or -1. */
  readonly chosen = signal(-1);

  constructor(shape: ChoiceShape, slot: Slot, parent: Field | undefined, context: FormContext) {
    super(shape, slot, parent, context);
    if (slot !== 'optional' && shape.options.length === 1) this.chosen.value = 0;
  }

  choose(option: number): void {
    this.chosen.value = option;
  }

  protected writeFields(writer: Writer): string | undefined {
    const option = this.shape.options[this.chosen.value];
    if (!option && this.slot === 'element') return writer.fail(this, 'is not chosen', '');
    return option?.json;
  }

  protected read({ source }: JsonNode): void {
    const value = canonical(JSON.parse(source));
    const found = this.shape.options.findIndex(({ json }) => json === source || canonical(JSON.parse(json)) === value);
    if (found < 0) throw misfit(this, 'is none of the values to choose from');
    this.choose(found);
  }

  protected empty(): void {
    this.choose(-1);
  }
}

/** Any JSON, as text. It has no other fields. */
export class JsonField extends AnyField<JsonShape> {
  readonly kind = 'json';

  constructor(shape: JsonShape, slot: Slot, parent: Field | undefined, context: FormContext) {
    super(shape, slot, parent, context);
    this.raw.value = parent ? '' : '{}';
  }

  override showFields(): void {}

  override fill({ source }: JsonNode, fitting: Fitting): void {
    fitting.take(this);
    this.typeRaw(source);
  }

  override clear(): void {
    this.typeRaw('');
  }

  protected writeFields(): undefined {}
  protected read(): void {}
  protected empty(): void {}
}

/** Equal for equal values, whatever the order of their members. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : inner,
  );
}
