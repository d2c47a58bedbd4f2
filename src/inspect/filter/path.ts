import { FilterError } from './error.ts';

/** One step of a path: a name, an index or, if undefined, every member. */
type Step = string | number | undefined;

/** A path into JSON, for example `$.params.items[0]["a name"].*`. */
export interface JsonPath {
  readonly steps: readonly Step[];
  /** Where the path ends in the filter. */
  readonly end: number;
}

/** The most values that are visited in one message. */
const MAX_VISITS = 100_000;

/** Parses a path up to its end or to `=`. @throws FilterError */
export function readPath(filter: string, start: number, end: number): JsonPath {
  if (filter[start] !== '$')
    throw new FilterError('Begin the path with "$", as in body:$.params.name=x', start, Math.max(end, start + 1));
  const steps: Step[] = [];
  let at = start + 1;
  while (at < end && filter[at] !== '=') {
    if (filter[at] === '.') {
      const [name = ''] = /^[^\s.[\]="()]*/.exec(filter.slice(at + 1, end)) ?? [];
      if (name === '')
        throw new FilterError('Write a name after "."', at + 1 < end ? at + 1 : at, Math.min(at + 2, end));
      steps.push(name === '*' ? undefined : name);
      at += 1 + name.length;
    } else if (filter[at] === '[') {
      const [whole, inside = ''] = /^\[((?:"(?:[^"\\]|\\.)*"|[^\]"])*)\]/s.exec(filter.slice(at, end)) ?? [];
      if (whole === undefined) throw new FilterError('This "[" has no "]"', at, end);
      steps.push(stepIn(inside, at));
      at += whole.length;
    } else throw new FilterError('Write ".name", "[0]" or "[*]" here', at, at + 1);
  }
  return { steps, end: at };
}

function stepIn(inside: string, bracket: number): Step {
  if (inside === '*') return undefined;
  if (/^\d{1,15}$/.test(inside)) return Number(inside);
  if (/^"(?:[^"\\]|\\.)*"$/s.test(inside)) return inside.slice(1, -1).replace(/\\(.)/gs, '$1');
  const start = bracket + 1;
  throw new FilterError('Write a number, "*" or a name in quotes in "[ ]"', start, start + Math.max(inside.length, 1));
}

/** Whether a path leads to a value that passes a test. */
export function finds(value: unknown, steps: readonly Step[], test: (value: unknown) => boolean): boolean {
  let visits = 0;
  let values: unknown[] = [value];
  for (const step of steps) {
    const next: unknown[] = [];
    for (const each of values) {
      if (typeof each !== 'object' || each === null) continue;
      const members =
        step === undefined ? Object.values(each) : Object.hasOwn(each, step) ? [Reflect.get(each, step)] : [];
      visits += members.length;
      if (visits > MAX_VISITS) return false;
      for (const member of members) next.push(member);
    }
    values = next;
  }
  // A member without a value is not in the text of a message.
  return values.some((each) => each !== undefined && test(each));
}

/** A name that a message must contain if it has a value at the path. Undefined if the path has no names. */
export function neededName(steps: readonly Step[]): string | undefined {
  return steps.findLast((step) => typeof step === 'string');
}
