import type { ComponentChildren, JSX } from 'preact';
import { cutText } from '../../src/base/short-text.ts';
import { Visible, visible } from '../ui/visible.tsx';
import { ListView, ObjectView, UnionView } from './group-views.tsx';
import { ChoiceInput, NumberInput, RawInput, TextInput } from './leaf-inputs.tsx';
import type { Field } from './make-field.ts';
import type { Shape } from './shape.ts';
import { idOf, useMistake } from './view-context.ts';

const MAX_NAME = 200;
const MAX_DESCRIPTION = 1_000;
const MAX_DEFAULT = 100;
const EXAMPLES: Readonly<Record<string, string>> = {
  'date-time': '2026-01-31T12:00:00Z',
  time: '12:00:00Z',
  email: 'name@example.com',
  uri: 'https://example.com/',
};

interface FieldProps {
  readonly field: Field;
  readonly name: string;
  /** Buttons for the whole field. */
  readonly actions?: ComponentChildren;
}

/** A field with its name, its description, its mistakes, and the switch to its JSON text. */
export function FieldView({ field, name, actions }: FieldProps): JSX.Element {
  const id = idOf(field);
  const isRaw = field.raw.value !== undefined;
  const isGroup = field.kind === 'object' || field.kind === 'list';
  const heading = (
    <span class="field-name">
      <Visible text={name} max={MAX_NAME} />
    </span>
  );
  const tools = (
    <span class="field-tools">
      <NullSwitch field={field} name={name} />
      <RawSwitch field={field} name={name} />
      {actions}
    </span>
  );
  const body = (
    <>
      <About field={field} />
      {isRaw ? (
        <RawInput field={field} label={isGroup ? `${visible(name)} as JSON` : undefined} />
      ) : (
        <FieldBody field={field} label={undefined} name={name} />
      )}
      <Mistake field={field} />
    </>
  );
  if (!isGroup) {
    return (
      <div class="field">
        <div class="field-head">
          <label for={id}>{heading}</label>
          <TypeNote field={field} name={name} />
        </div>
        {body}
        {tools}
      </div>
    );
  }
  const isFixed = field.slot !== 'optional' && field.present.value;
  return (
    <fieldset
      class="field group"
      id={isRaw ? undefined : id}
      tabIndex={-1}
      aria-describedby={`${id}-about ${id}-mistake`}
    >
      <legend>
        {isFixed || isRaw ? (
          heading
        ) : (
          <label>
            <input
              type="checkbox"
              checked={field.present.value}
              onChange={({ currentTarget }) => (currentTarget.checked ? field.include() : field.exclude())}
            />
            {heading}
          </label>
        )}
        <TypeNote field={field} name={name} />
      </legend>
      {tools}
      {body}
    </fieldset>
  );
}

interface BodyProps {
  readonly field: Field;
  /** The accessible name of its input, if it has no label. */
  readonly label: string | undefined;
  /** The name that the buttons of a group mention. */
  readonly name: string;
}

/** The inputs of a field, without its name. */
export function FieldBody({ field, label, name }: BodyProps): JSX.Element | null {
  if (field.isNull.value) return <p class="soft">null</p>;
  switch (field.kind) {
    case 'text':
      return (
        <>
          <TextInput field={field} label={label} />
          {field.sendsEmpty.value && (
            <label class="field-option">
              <input
                type="checkbox"
                checked
                onChange={() => {
                  field.sendsEmpty.value = false;
                }}
              />
              sent even if empty
            </label>
          )}
        </>
      );
    case 'number':
      return <NumberInput field={field} label={label} />;
    case 'choice':
      return <ChoiceInput field={field} label={label} />;
    case 'object':
      return field.present.value ? <ObjectView field={field} name={name} /> : null;
    case 'list':
      return <ListView field={field} name={name} />;
    case 'union':
      return <UnionView field={field} name={name} label={label} />;
    default:
      return <RawInput field={field} label={label} />;
  }
}

/** The type of a field, beside its name. */
function TypeNote({ field, name }: { field: Field; name: string }): JSX.Element {
  const { title, initial } = field.shape;
  const notes = [typeOf(field.shape)];
  if (title !== undefined && title !== name) notes.unshift(cutText(title, MAX_NAME));
  if (initial !== undefined) notes.push(`default ${cutText(initial, MAX_DEFAULT)}`);
  return (
    <span class="field-type soft" id={`${idOf(field)}-type`}>
      <Visible text={notes.join(' · ')} />
      {field.slot === 'required' && <span class="bad"> required</span>}
    </span>
  );
}

export function About({ field }: { field: Field }): JSX.Element {
  const { description } = field.shape;
  return (
    <p class="field-about soft" id={`${idOf(field)}-about`}>
      {description !== undefined && <Visible text={description} lines max={MAX_DESCRIPTION} />}
    </p>
  );
}

export function Mistake({ field }: { field: Field }): JSX.Element {
  const id = idOf(field);
  const mistake = useMistake(field).value;
  return (
    <p class="field-mistake bad" id={`${id}-mistake`}>
      {mistake !== undefined && <Visible text={mistake} max={MAX_DESCRIPTION} />}
    </p>
  );
}

/** Switches between the fields and their JSON text. */
export function RawSwitch({ field, name }: { field: Field; name: string }): JSX.Element | null {
  if (field.kind === 'json') return null;
  const isRaw = field.raw.value !== undefined;
  return (
    <button
      type="button"
      class="small"
      aria-pressed={isRaw}
      aria-label={`${visible(name)} as JSON`}
      onClick={() => (isRaw ? field.showFields() : field.showRaw())}
    >
      JSON
    </button>
  );
}

/** A checkbox that sends null instead of the field's value. */
export function NullSwitch({ field, name }: { field: Field; name: string }): JSX.Element | null {
  if (!field.shape.nullable || field.raw.value !== undefined) return null;
  return (
    <label class="field-option">
      <input
        type="checkbox"
        aria-label={`${visible(name)} is null`}
        checked={field.isNull.value}
        onChange={({ currentTarget }) => {
          field.isNull.value = currentTarget.checked;
        }}
      />
      null
    </label>
  );
}

function typeOf(shape: Shape): string {
  switch (shape.kind) {
    case 'text': {
      if (shape.format === undefined) return 'string';
      const example = EXAMPLES[shape.format];
      return example === undefined ? `string, ${shape.format}` : `string, ${shape.format} such as ${example}`;
    }
    case 'number':
      return shape.integer ? 'integer' : 'number';
    case 'choice':
      return choiceType(shape.options.map(({ json }) => json));
    case 'object':
      return 'object';
    case 'list':
      return 'array';
    case 'union':
      return `one of ${shape.branches.length} kinds`;
    default:
      return shape.why === undefined ? 'any JSON' : `JSON, because ${shape.why}`;
  }
}

function choiceType(values: readonly string[]): string {
  if (values.every((json) => json === 'true' || json === 'false')) return 'boolean';
  return values.length === 1 ? 'one value' : `one of ${values.length} values`;
}
