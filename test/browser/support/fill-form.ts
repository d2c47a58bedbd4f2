import type { JsonObject } from '../../../src/jsonrpc/message.ts';

/**
 * Runs in the page: chooses the tools that are listed, one after the other, fills in their forms with these values, as a
 * person does, and presses `Call`.
 *
 * @returns what the forms say is wrong.
 */
export async function callTools(values: JsonObject[]): Promise<string[]> {
  /** The value cannot be entered in these fields. */
  class NoWay extends Error {}

  const mistakes: string[] = [];
  for (const [at, value] of values.entries()) {
    await press(document.querySelectorAll<HTMLElement>('.picker .entry')[at]!);
    await enter(document.querySelector('.schema-form > .field-root')!, value);
    await press(document.querySelector<HTMLElement>('form.call button.primary')!);
    const mistake = document.querySelector('.form-mistakes')?.textContent;
    if (mistake) mistakes.push(mistake);
  }
  return mistakes;

  async function enter(body: Element, wanted: unknown): Promise<void> {
    const isNull = own<HTMLInputElement>(body, '[aria-label$=" is null"]');
    if (isNull && isNull.checked !== (wanted === null)) await press(isNull);
    if (isNull && wanted === null) return;
    const raw = own<HTMLTextAreaElement>(body, 'textarea.raw');
    if (raw) return type(raw, JSON.stringify(wanted, null, 1));
    const select = own<HTMLSelectElement>(body, 'select');
    if (select) return choose(body, select, wanted);
    const text = own<HTMLInputElement>(body, 'input:not([type=checkbox]), textarea');
    if (text) {
      const isNumber = text.inputMode === 'decimal';
      if (typeof wanted !== (isNumber ? 'number' : 'string')) throw new NoWay();
      return type(text, isNumber ? JSON.stringify(wanted) : (wanted as string));
    }
    const include = body.querySelector<HTMLInputElement>(':scope > legend input[type=checkbox]');
    if (include && !include.checked) await press(include);
    const fillIn = button(body, 'Fill in');
    if (fillIn) await press(fillIn);
    const isList = button(body, 'Add an item') !== undefined || nameOf(fields(body)[0]) === 'item 1';
    if (typeof wanted !== 'object' || wanted === null || isList !== Array.isArray(wanted)) throw new NoWay();
    return isList ? enterList(body, wanted as unknown[]) : enterObject(body, wanted);
  }

  async function choose(body: Element, select: HTMLSelectElement, wanted: unknown): Promise<void> {
    const labels = new Set([JSON.stringify(wanted), wanted]);
    const options = [...select.options].slice(1);
    for (const option of options) {
      await pick(select, option.value);
      const branch = own(body, '.branch');
      // The only value may have a title.
      if (!branch && (labels.has(option.text) || (options.length === 1 && !body.matches('.branch')))) return;
      if (!branch) continue;
      try {
        return await enter(branch, wanted);
      } catch (error) {
        if (!(error instanceof NoWay)) throw error;
      }
    }
    throw new NoWay();
  }

  async function enterList(body: Element, items: unknown[]): Promise<void> {
    for (let remove; (remove = body.querySelector<HTMLElement>(':scope > .field [aria-label^="Remove item"]'));)
      await press(remove);
    for (const [at, item] of items.entries()) {
      if (!fields(body)[at]) await press(button(body, 'Add an item') ?? none());
      await enter(fields(body)[at]!, item);
    }
  }

  async function enterObject(body: Element, wanted: JsonObject): Promise<void> {
    const names = new Set(Object.keys(wanted));
    for (const field of fields(body)) {
      const name = nameOf(field)!;
      if (names.delete(name)) await enter(field, wanted[name]);
      else if (field.querySelector(':scope > * > .field-type > .bad')) throw new NoWay();
      else await leaveOut(field);
    }
    for (const name of names) {
      await press(button(body, 'Add a property') ?? none());
      const added = body.querySelector(':scope > .field-own:nth-last-child(1 of .field-own)')!;
      type(added.querySelector('input')!, name);
      await enter(fields(added)[0]!, wanted[name]);
    }
  }

  async function leaveOut(field: Element): Promise<void> {
    const on = field.querySelector<HTMLInputElement>(':scope > .field-tools :checked, :scope > legend :checked');
    if (on) await press(on);
    const select = own<HTMLSelectElement>(field, 'select');
    if (select) return pick(select, '-1');
    const text = own<HTMLInputElement>(field, 'input:not([type=checkbox]), textarea');
    if (text && text.value !== '') type(text, '');
    await drawn();
    const empty = own<HTMLInputElement>(field, '.field-option > :checked');
    if (empty) await press(empty);
  }

  function none(): never {
    throw new NoWay();
  }

  /** What belongs to a field, and not to the fields in it. */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- as querySelector does
  function own<E extends Element = Element>(body: Element, selector: string): E | undefined {
    const found = [...body.querySelectorAll<E>(selector)];
    return found.find((each) => each.parentElement!.closest('.field, .branch, .field-root') === body);
  }

  function fields(body: Element): Element[] {
    return [...body.querySelectorAll(':scope > .field')];
  }

  function nameOf(field: Element | undefined): string | undefined {
    return field?.querySelector('.field-name')?.textContent ?? undefined;
  }

  function button(body: Element, text: string): HTMLButtonElement | undefined {
    const buttons = [...body.querySelectorAll<HTMLButtonElement>(':scope > button')];
    return buttons.find((each) => each.textContent.startsWith(text));
  }

  function type(input: HTMLInputElement | HTMLTextAreaElement, text: string): void {
    input.value = text;
    input.dispatchEvent(new InputEvent('input', { bubbles: true }));
  }

  async function pick(select: HTMLSelectElement, option: string): Promise<void> {
    select.value = option;
    select.dispatchEvent(new Event('change', { bubbles: true }));
    await drawn();
  }

  async function press(control: HTMLElement): Promise<void> {
    control.click();
    await drawn();
  }

  /** The page changes in microtasks, some of which lead to others. It is not painted, which would take most of the time. */
  async function drawn(): Promise<void> {
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
  }
}
