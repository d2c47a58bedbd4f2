import { signal, type Signal } from '@preact/signals';
import { AnyField, misfit, type Fitting, type FormContext, type Path, type Slot, type Writer } from './field.ts';
import type { JsonNode } from './json-text.ts';
import type { Field } from './make-field.ts';
import type { ObjectShape } from './shape.ts';

/** A property that the schema names. */
interface Property {
  readonly name: string;
  readonly field: Field;
}

/** A property that the user named. */
export interface OwnProperty {
  readonly name: Signal<string>;
  readonly field: Field;
}

/** How many fields are added at a time. */
const PORTION = 100;

/** An object: fields for the properties that the schema names, and others that the user adds. */
export class ObjectField extends AnyField<ObjectShape> {
  readonly kind = 'object';
  /** Whether the object is sent. Its fields are created when it is sent for the first time. */
  readonly present = signal(false);
  readonly properties = signal<readonly Property[]>([]);
  readonly own = signal<readonly OwnProperty[]>([]);
  readonly #hidden = new Set<string>();
  /** How many properties of the schema have no fields yet. */
  readonly hidden = signal(0);

  constructor(shape: ObjectShape, slot: Slot, parent: Field | undefined, context: FormContext) {
    super(shape, slot, parent, context);
    if (slot !== 'optional' && context.expands) this.include();
  }

  include(): void {
    this.context.adding(() => {
      if (this.properties.peek().length === 0) this.#begin();
      this.present.value = true;
    });
  }

  exclude(): void {
    this.present.value = false;
  }

  /** Adds fields for the next 100 properties of the schema. */
  showMore(): void {
    this.context.adding(() => this.#show([...this.#hidden].slice(0, PORTION)));
  }

  addOwn(name = ''): OwnProperty {
    return this.context.adding(() => {
      this.include();
      const added = { name: signal(name), field: this.context.make(this.shape.others, 'element', this) };
      this.own.value = [...this.own.peek(), added];
      return added;
    });
  }

  removeOwn(property: OwnProperty): void {
    this.own.value = this.own.peek().filter((one) => one !== property);
  }

  override stepTo(child: Field): Path {
    const property = this.properties.peek().find(({ field }) => field === child);
    const own = this.own.peek().find(({ field }) => field === child);
    return [property?.name ?? own?.name.peek() ?? ''];
  }

  override childAt(step: string): Field | undefined {
    const property = this.properties.value.find(({ name }) => name === step);
    return property?.field ?? this.own.value.find(({ name }) => name.value === step)?.field;
  }

  protected writeFields(writer: Writer, depth: number): string | undefined {
    if (!this.present.value) return undefined;
    const parts: string[] = [];
    for (const { name, field } of this.properties.value) {
      const text = field.write(writer, depth + 1);
      if (text !== undefined) parts.push(writer.named(name, text));
      else if (this.shape.required.has(name)) writer.missing.push({ owner: this, name });
    }
    if (this.hidden.value > 0) {
      for (const name of this.shape.required) if (this.#hidden.has(name)) writer.missing.push({ owner: this, name });
    }
    const names = new Set<string>();
    for (const { name, field } of this.own.value) {
      if (name.value === '') writer.fail(field, 'has no name', '');
      else if (names.has(name.value) || this.shape.properties.has(name.value))
        writer.fail(field, 'has the name of another property', '');
      names.add(name.value);
      parts.push(writer.named(name.value, field.write(writer, depth + 1) ?? ''));
    }
    return writer.bracketed('{', parts, '}', depth);
  }

  protected read(node: JsonNode, fitting: Fitting): void {
    if (node.kind !== 'object') throw misfit(this, 'is not an object');
    const { properties, required, others, open } = this.shape;
    const nodes = new Map(node.members.map((member) => [member.name, member.node]));
    if (nodes.size < node.members.length) throw misfit(this, 'has two properties of the same name');
    for (const name of nodes.keys()) {
      if (properties.has(name)) continue;
      if (others === false || (fitting.strict && !open)) throw misfit(this, 'is not in the schema', name);
      if (name === '') throw misfit(this, 'has a property without a name');
    }
    const missing = [...required].find((name) => !nodes.has(name));
    if (fitting.strict && missing !== undefined) throw misfit(this, 'is missing', missing);

    if (this.properties.peek().length === 0) this.#begin();
    this.#show([...nodes.keys()].filter((name) => this.#hidden.has(name)));
    fitting.take(this, this.properties.peek().length);
    for (const { name, field } of this.properties.peek()) {
      const given = nodes.get(name);
      if (given) field.fill(given, fitting);
      else field.clear();
      nodes.delete(name);
    }
    this.own.value = [];
    for (const [name, given] of nodes) this.addOwn(name).field.fill(given, fitting);
    this.present.value = true;
  }

  protected empty(): void {
    this.present.value = false;
    this.properties.value = [];
    this.own.value = [];
  }

  /** Begins with the required properties if there are too many to show all. */
  #begin(): void {
    const { properties, required } = this.shape;
    const names = [...properties.keys()];
    if (names.length > PORTION) names.sort((one, other) => Number(required.has(other)) - Number(required.has(one)));
    this.#hidden.clear();
    for (const name of names) this.#hidden.add(name);
    this.#show(names.slice(0, PORTION));
  }

  #show(names: readonly string[]): void {
    const { properties, required } = this.shape;
    const added = names.map((name) => {
      this.#hidden.delete(name);
      const slot = required.has(name) ? 'required' : 'optional';
      return { name, field: this.context.make(properties.get(name), slot, this) };
    });
    this.properties.value = [...this.properties.peek(), ...added];
    this.hidden.value = this.#hidden.size;
  }
}
