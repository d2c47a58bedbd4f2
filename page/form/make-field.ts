import { Misfit, type FormContext, type Slot } from './field.ts';
import { JsonMistake, parseJson } from './json-text.ts';
import { ChoiceField, JsonField, NumberField, TextField } from './leaf-fields.ts';
import { ListField } from './list-field.ts';
import { ObjectField } from './object-field.ts';
import { shapeOf, type Shape } from './shape.ts';
import { UnionField } from './union-field.ts';

export type Field = TextField | NumberField | ChoiceField | ObjectField | ListField | UnionField | JsonField;

/**
 * A field with its default value. A default of null is ignored in an optional field, because servers use it for fields
 * that they do not need. A default that does not match its own schema, or is too long to be edited, is ignored too.
 */
export function makeField(schema: unknown, slot: Slot, parent: Field | undefined, context: FormContext): Field {
  const shape = shapeOf(schema, context.reader);
  const field = bareField(shape, slot, parent, context);
  const { initial } = shape;
  if (initial === undefined || !context.takesDefaults || (initial === 'null' && slot === 'optional')) return field;
  if (!context.takeDefault(initial)) return field;
  try {
    field.fill(parseJson(initial), context.fittingDefault());
  } catch (error) {
    if (!(error instanceof Misfit || error instanceof JsonMistake)) throw error;
    return bareField(shape, slot, parent, context);
  }
  return field;
}

function bareField(shape: Shape, slot: Slot, parent: Field | undefined, context: FormContext): Field {
  switch (shape.kind) {
    case 'text':
      return new TextField(shape, slot, parent, context);
    case 'number':
      return new NumberField(shape, slot, parent, context);
    case 'choice':
      return new ChoiceField(shape, slot, parent, context);
    case 'object':
      return new ObjectField(shape, slot, parent, context);
    case 'list':
      return new ListField(shape, slot, parent, context);
    case 'union':
      return new UnionField(shape, slot, parent, context);
    default:
      return new JsonField(shape, slot, parent, context);
  }
}
