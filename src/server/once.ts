import { isObject } from '../jsonrpc/message.ts';

/** Current runs, by the notes that will hold their values. All exchanges of one request share its notes. */
const running = new WeakMap<Map<string, unknown>, Map<string, Promise<unknown>>>();

/**
 * Returns the value of the first run of `make` for these notes and this key. Parallel calls share one run. A run that
 * fails is not remembered. The value is stored as a one-element list, which is empty for undefined. Each call gets its
 * own copy.
 *
 * @throws TypeError (rejects) if the value is not JSON; and any error of `make`.
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

/** The value after a JSON round trip: without properties that are undefined. */
function asJson(value: unknown): unknown {
  // Throws for circular values, so it must run before the walk.
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
