/** Whether a text says what to ignore: a JSON Pointer, or the method of a notification. */
export function isIgnorable(text: string): boolean {
  return text.startsWith('/') || text.startsWith('notifications/');
}

/** @throws TypeError if one of them does not say what to ignore. */
export function checkIgnored(given: readonly string[] = []): void {
  const wrong = given.find((each) => !isIgnorable(each));
  if (wrong !== undefined)
    throw new TypeError(
      `What is ignored must be a JSON pointer or the method of a notification, and not ${JSON.stringify(wrong)}`,
    );
}

/** What does not count in a comparison. */
export class Ignored {
  readonly #methods: ReadonlySet<string>;
  readonly #pointers: readonly (readonly string[])[];

  /**
   * @param given JSON Pointers, in which `*` stands for any one name or index, and methods of notifications.
   * @throws TypeError if one is neither.
   */
  constructor(given: readonly string[] = []) {
    checkIgnored(given);
    this.#methods = new Set(given);
    this.#pointers = given.filter((each) => each.startsWith('/')).map((each) => each.split('/'));
  }

  method(method: string): boolean {
    return this.#methods.has(method);
  }

  /** Whether a place is ignored, or is in something that is. */
  pointer(pointer: string): boolean {
    const names = pointer.split('/');
    return this.#pointers.some((ignored) =>
      ignored.every((name, index) => index < names.length && (name === '*' || name === names[index])),
    );
  }
}
