import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { beginning, visible } from '../ui/visible.tsx';
import { About, FieldBody, FieldView, Mistake, NullSwitch } from './field-view.tsx';
import type { ListField } from './list-field.ts';
import type { Field } from './make-field.ts';
import type { ObjectField, OwnProperty } from './object-field.ts';
import { useTypedText } from './typed-text.ts';
import type { UnionField } from './union-field.ts';
import { idOf, useInputProps } from './view-context.ts';

interface GroupProps<F> {
  readonly field: F;
  readonly name: string;
}

/** The properties of an object that is sent. */
export function ObjectView({ field, name }: GroupProps<ObjectField>): JSX.Element {
  const focusLater = useFocusLater();
  const { open, others } = field.shape;
  const { value: own } = field.own;
  const add = (): void => focusLater(() => `${idOf(field.addOwn().field)}-name`);
  return (
    <>
      {field.properties.value.map((one) => (
        <FieldView key={one.field.id} field={one.field} name={one.name} />
      ))}
      {field.hidden.value > 0 && (
        <button type="button" onClick={() => field.showMore()}>
          Show more of {field.hidden.value.toLocaleString('en')} properties
        </button>
      )}
      {own.map((property) => (
        <OwnPropertyView
          key={property.field.id}
          property={property}
          remove={() => {
            field.removeOwn(property);
            focusLater(() => `${idOf(field)}-add`);
          }}
        />
      ))}
      {(open || own.length > 0) && others !== false && (
        <button type="button" id={`${idOf(field)}-add`} class="field-add" onClick={add}>
          Add a property<span class="visually-hidden"> to {visible(name)}</span>
        </button>
      )}
    </>
  );
}

function OwnPropertyView({ property, remove }: { property: OwnProperty; remove: () => void }): JSX.Element {
  const id = `${idOf(property.field)}-name`;
  const ref = useTypedText<HTMLInputElement>(property.name);
  const name = property.name.value || 'new property';
  return (
    <div class="field-own">
      <div class="field-head">
        <label for={id}>Name</label>
        <input
          id={id}
          ref={ref}
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          onInput={({ currentTarget }) => {
            property.name.value = currentTarget.value;
          }}
        />
        <button type="button" class="quiet" aria-label={`Remove ${visible(name)}`} onClick={remove}>
          Remove
        </button>
      </div>
      <FieldView field={property.field} name={name} />
    </div>
  );
}

/** The items of a list, and a button that adds one. */
export function ListView({ field, name }: GroupProps<ListField>): JSX.Element {
  const focusLater = useFocusLater();
  const first = field.present.value ? field.first.value : [];
  const rows = field.present.value ? field.rows.value : [];
  const add = `${idOf(field)}-add`;
  return (
    <>
      {first.map((item, at) => (
        <FieldView key={item.id} field={item} name={item.shape.title ?? `item ${at + 1}`} />
      ))}
      {rows.map((row, at) => {
        const label = `item ${first.length + at + 1}`;
        const move = (by: -1 | 1, button: HTMLElement): void => {
          field.move(row, by);
          focusLater(() => button);
        };
        return (
          <FieldView
            key={row.id}
            field={row}
            name={label}
            actions={
              <>
                <button
                  type="button"
                  class="quiet"
                  aria-label={`Move ${label} up`}
                  aria-disabled={at === 0}
                  onClick={({ currentTarget }) => move(-1, currentTarget)}
                >
                  ↑
                </button>
                <button
                  type="button"
                  class="quiet"
                  aria-label={`Move ${label} down`}
                  aria-disabled={at === rows.length - 1}
                  onClick={({ currentTarget }) => move(1, currentTarget)}
                >
                  ↓
                </button>
                <button
                  type="button"
                  class="quiet"
                  aria-label={`Remove ${label}`}
                  onClick={() => {
                    field.remove(row);
                    focusLater(() => add);
                  }}
                >
                  ✕
                </button>
              </>
            }
          />
        );
      })}
      {field.shape.rest !== false && (
        <button
          type="button"
          id={add}
          class="field-add"
          disabled={field.isFull}
          onClick={() => focusLater(() => idOf(field.add()))}
        >
          Add an item<span class="visually-hidden"> to {visible(name)}</span>
        </button>
      )}
    </>
  );
}

/** The choice of a branch, and the field of the chosen one. */
export function UnionView({
  field,
  name,
  label: ownLabel,
}: GroupProps<UnionField> & { label: string | undefined }): JSX.Element {
  const active = field.active.value;
  return (
    <>
      <select
        {...useInputProps(field)}
        aria-label={ownLabel}
        value={field.chosen.value}
        onChange={({ currentTarget }) => field.choose(Number(currentTarget.value))}
      >
        <option value={-1}>{field.slot === 'optional' ? '(not sent)' : '(choose)'}</option>
        {field.shape.branches.map(({ label }, at) => (
          <option key={label} value={at}>
            {beginning(label, 200)}
          </option>
        ))}
      </select>
      {active && (
        <BranchView
          key={active.id}
          field={active}
          name={`${name}, ${field.shape.branches[field.chosen.value]?.label}`}
        />
      )}
    </>
  );
}

/** The field of a branch. Its name is that of the choice. */
function BranchView({ field, name }: { field: Field; name: string }): JSX.Element {
  const id = idOf(field);
  const inner = (
    <>
      {field.shape.description !== undefined && <About field={field} />}
      <NullSwitch field={field} name={name} />
      <FieldBody field={field} label={visible(name)} name={name} />
      <Mistake field={field} />
    </>
  );
  const isGroup = field.kind === 'object' || field.kind === 'list';
  if (!isGroup) return <div class="branch">{inner}</div>;
  return (
    <div class="branch" role="group" id={id} tabIndex={-1} aria-label={visible(name)}>
      {!field.present.value && (
        <button type="button" onClick={() => field.include()}>
          Fill in {visible(name)}
        </button>
      )}
      {inner}
    </div>
  );
}

/** Moves the focus after the next change of the page: to an element, or its id. */
function useFocusLater(): (find: () => string | HTMLElement) => void {
  const target = useRef<string | HTMLElement | undefined>(undefined);
  useLayoutEffect(() => {
    const { current } = target;
    target.current = undefined;
    const element = typeof current === 'string' ? document.getElementById(current) : current;
    element?.focus();
  });
  return (find) => {
    target.current = find();
  };
}
