import { isObject } from '../jsonrpc/message.ts';
import { canonicalJson } from '../jsonrpc/shape.ts';

/** Where two values differ: `arguments.a`, and what each of them has there. Undefined if it has nothing there. */
export interface Difference {
  readonly path: string;
  readonly recorded: unknown;
  readonly received: unknown;
}

/** The most differences that are counted. */
const MAX_DIFFERENCES = 100;

/** The places where a value that was received differs from one in a recording, at most 100. */
export function differences(recorded: unknown, received: unknown): Difference[] {
  const found: Difference[] = [];
  compare('', recorded, received, found);
  return found;
}

function compare(path: string, recorded: unknown, received: unknown, found: Difference[]): void {
  if (found.length >= MAX_DIFFERENCES) return;
  const names = commonMembers(recorded, received);
  if (names) {
    const [a, b] = [recorded, received] as Record<string, unknown>[];
    for (const name of names)
      compare(path === '' ? name : `${path}.${name}`, member(a!, name), member(b!, name), found);
  } else if (canonicalJson(recorded) !== canonicalJson(received)) found.push({ path, recorded, received });
}

/** The names of all members of two objects, or the indexes of two lists. Undefined for other values. */
function commonMembers(a: unknown, b: unknown): string[] | undefined {
  const alike = (isObject(a) && isObject(b)) || (Array.isArray(a) && Array.isArray(b));
  return alike ? [...Object.keys(a), ...Object.keys(b).filter((name) => !Object.hasOwn(a, name))] : undefined;
}

function member(value: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(value, name) ? value[name] : undefined;
}

/** The most differences, and characters of a value and of a name, that are shown. */
const SHOWN = 3;
const MAX_VALUE = 60;
const MAX_NAME = 200;

/** One line for users: `arguments.a is 2 and not 1`. */
export function describeDifferences(found: readonly Difference[]): string {
  const lines = found.slice(0, SHOWN).map(({ path, recorded, received }) => {
    const place = path === '' ? 'it' : beginning(path);
    if (received === undefined) return `${place} is missing`;
    if (recorded === undefined) return `${place} is new`;
    return `${place} is ${valueText(received)} and not ${valueText(recorded)}`;
  });
  const more = found.length - lines.length;
  return lines.join(', ') + (more > 0 ? `, and ${more} more` : '');
}

function valueText(value: unknown): string {
  return beginning(JSON.stringify(value), MAX_VALUE);
}

/** The beginning of a text, to show to users. It is a copy: a slice would keep the whole text in memory. */
export function beginning(text: string, max = MAX_NAME): string {
  return text.length <= max ? text : `${Buffer.from(text.slice(0, max)).toString()}…`;
}
