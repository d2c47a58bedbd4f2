import { signal, type ReadonlySignal } from '@preact/signals';
import { AnyField, Misfit, misfit, type Fitting, type FormContext, type Slot, type Writer } from './field.ts';
import type { JsonNode } from './json-text.ts';
import type { Field } from './make-field.ts';
import { shapeOf, type UnionShape } from './shape.ts';

/** A choice of schemas, and the field of the chosen one. What was typed for another branch is kept. */
export class UnionField extends AnyField<UnionShape> {
  readonly kind = 'union';
  /** The position of the chosen branch, or -1. */
  readonly chosen = signal(-1);
  readonly #branches = new Map<number, Field>();
  readonly #active = signal<Field | undefined>(undefined);

  constructor(shape: UnionShape, slot: Slot, parent: Field | undefined, context: FormContext) {
    super(shape, slot, parent, context);
    // An empty input sends nothing, so even an optional field can show it from the start.
    if (context.expands && (slot !== 'optional' || this.#beginsWithInput())) this.choose(0);
  }

  /** The field of the chosen branch. */
  get active(): ReadonlySignal<Field | undefined> {
    return this.#active;
  }

  choose(branch: number): void {
    this.context.adding(() => {
      this.chosen.value = branch;
      this.#active.value = this.#branch(branch);
    });
  }

  override childAt(step: string): Field | undefined {
    return this.#active.value?.childAt(step);
  }

  protected writeFields(writer: Writer, depth: number): string | undefined {
    const active = this.#active.value;
    if (!active && this.slot === 'element') return writer.fail(this, 'is not chosen', '');
    return active?.write(writer, depth);
  }

  /** The first branch that plainly matches, or else the first that can show the value. */
  protected read(node: JsonNode, fitting: Fitting): void {
    const outer = fitting.strict;
    let reason = misfit(this, 'fits none of the choices');
    for (const strict of outer ? [true] : [true, false]) {
      for (let branch = 0; branch < this.shape.branches.length; branch += 1) {
        fitting.strict = strict;
        try {
          this.#branches.delete(branch);
          this.choose(branch);
          this.#active.peek()!.fill(node, fitting);
          return;
        } catch (error) {
          if (!(error instanceof Misfit)) throw error;
          this.#branches.delete(branch);
          // If only one branch is possible, its own reason is more helpful.
          if (!strict && branch === 0 && this.shape.branches.length === 1) reason = error;
        } finally {
          fitting.strict = outer;
        }
      }
    }
    throw reason;
  }

  protected empty(): void {
    this.chosen.value = -1;
    this.#active.value = undefined;
    this.#branches.clear();
  }

  #branch(at: number): Field | undefined {
    const branch = this.shape.branches[at];
    if (!branch) return undefined;
    let field = this.#branches.get(at);
    if (!field) {
      field = this.context.make(branch.schema, this.slot === 'element' ? 'element' : 'required', this.self);
      this.#branches.set(at, field);
    }
    return field;
  }

  #beginsWithInput(): boolean {
    const { kind, initial } = shapeOf(this.shape.branches[0]?.schema, this.context.reader);
    return (kind === 'text' || kind === 'number') && initial === undefined;
  }
}
