import { isObject } from '../jsonrpc/message.ts';

/** Runs under way, by the notes that they will be written to: of one request, however often its exchange was derived. */
const running = new WeakMap<Map<string, unknown>, Map<string, Promise<unknown>>>();

/**
 * The value of the first run of `make` for these notes and this key. Runs at the same time are one; a run that fails is
 * forgotten. The value is noted as a list of it, which is empty for undefined, and each call gets a copy of its own.
 *
 * @throws TypeError (rejects) where the value is no JSON; and what `make` throws.
 */
export async function once(notes: Map<string, unknown>, key: string, make: () => unknown): Promise<unknown> {
  const note = `once:${key}`;
  if (!notes.has(note)) {
    let runs = running.get(notes);
    if (runs === undefined) running.set(notes, (runs = new Map()));
    let run = runs.get(note);
    if (run === undefined) {
      run = noted(notes, note, make);
      runs.set(note, run);
    }
    try {
      await run;
    } finally {
      if (runs.get(note) === run) runs.delete(note);
    }
  }
  return structuredClone((notes.get(note) as unknown[])[0]);
}

async function noted(notes: Map<string, unknown>, note: string, make: () => unknown): Promise<void> {
  const value = await make();
  notes.set(note, value === undefined ? [] : [asJson(value)]);
}

/** The value as it is after it was written and read: without properties that are undefined. */
function asJson(value: unknown): unknown {
  // Throws for circles, and so goes before the walk.
  const written = JSON.stringify(value);
  if (!isJson(value))
    throw new TypeError('once: the value must be JSON: plain objects, lists, strings, numbers, booleans, null');
  return JSON.parse(written);
}

function isJson(value: unknown): boolean {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true;
    case 'number':
      return Number.isFinite(value);
    case 'object': {
      if (value === null) return true;
      if (Array.isArray(value)) return value.every(isJson);
      const prototype: unknown = Object.getPrototypeOf(value);
      if (!isObject(value) || (prototype !== Object.prototype && prototype !== null)) return false;
      return Object.values(value).every((one) => one === undefined || isJson(one));
    }
    default:
      return false;
  }
}
