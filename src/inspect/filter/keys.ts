import { suggestion } from '../../base/nearest.ts';
import type { SpanState } from '../spans/span.ts';
import { FilterError } from './error.ts';
import { finds, neededName, readPath } from './path.ts';
import { wholeText, type TextTest } from './pattern.ts';
import type { FilterSubject } from './subject.ts';
import { piecesOf } from './tokens.ts';

/** Whether a filter shows a record or a span. */
export type Predicate = (subject: FilterSubject) => boolean;

/**
 * A term that tests what all messages of a batch have in common. A batch may be large and have thousands of messages, so it
 * is tested once.
 */
export function onceForBatch(term: Predicate): Predicate {
  return (subject) => {
    const known = subject.tested?.get(term);
    if (known !== undefined) return known;
    const result = term(subject);
    subject.tested?.set(term, result);
    return result;
  };
}

/** Where the value of a term is in its filter. */
interface Value {
  readonly filter: string;
  readonly start: number;
  readonly end: number;
}

/** What may stand before the colon or the comparison sign of a term. */
export interface Key {
  readonly operators: readonly string[];
  readonly example: string;
  /** All possible values. Undefined if any value is possible. */
  readonly values?: readonly string[] | undefined;
  /** @throws FilterError */
  predicate(value: Value, operator: string): Predicate;
}

const IS = [':'];
const COMPARE = ['>', '>=', '<', '<='];
const LAYERS = ['open', 'close', 'bytes', 'head', 'chunk', 'body', 'frame', 'line', 'stderr', 'message', 'gap'];
const SEVERITIES = ['error', 'warning', 'advice'];
const STATES = ['open', 'input_required', 'done', 'failed', 'cancelled', 'unanswered'] satisfies SpanState[];
/** Microseconds. */
const TIMES: Units = { us: 1, ms: 1000, s: 1_000_000, m: 60_000_000 };
/** Bytes. */
const SIZES: Units = { '': 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 };

/** All keys, in the order in which they are suggested. */
export const KEYS: ReadonlyMap<string, Key> = new Map<string, Key>([
  ['method', textKey('method:tools/call', ({ method }) => method)],
  ['tool', textKey('tool:search', ({ tool }) => tool)],
  ['dur', numberKey('dur>500ms', TIMES, 'Write a time with a unit (us, ms, s, m)', ({ dur }) => dur)],
  ['size', numberKey('size>10k', SIZES, 'Write a size in bytes, or with a unit (k, m, g)', ({ size }) => size)],
  ['dir', textKey('dir:s>c', ({ dir }) => dir, ['c>s', 's>c', 'stderr'])],
  ['layer', textKey('layer:frame', ({ layer }) => layer, LAYERS)],
  ['kind', textKey('kind:error', ({ kind }) => kind, ['request', 'notification', 'result', 'error', 'batch'])],
  ['state', textKey('state:open', ({ state }) => state, STATES)],
  ['header', { operators: IS, example: 'header:mcp-name', predicate: headerPredicate }],
  ['lint', batchKey(textKey('lint:error', ({ findings }) => findings?.map(({ severity }) => severity), SEVERITIES))],
  ['rule', batchKey(textKey('rule:result-object', ({ findings }) => findings?.map(({ rule }) => rule)))],
  ['body', batchKey({ operators: IS, example: 'body:$.params.name=x', predicate: bodyPredicate })],
  ['conn', textKey('conn:1', ({ conn }) => conn)],
  ['side', textKey('side:client', ({ side }) => side, ['client', 'server', 'app'])],
  ['id', textKey('id:7', ({ id }) => id)],
]);

function textKey(
  example: string,
  read: (subject: FilterSubject) => string | number | readonly string[] | undefined,
  values?: readonly string[],
): Key {
  const name = example.slice(0, example.indexOf(':'));
  const predicate = ({ filter, start, end }: Value): Predicate => {
    const written = filter.slice(start, end);
    if (values && !values.includes(written.toLowerCase()))
      throw new FilterError(`"${name}" is one of ${values.join(', ')}${suggestion(written, values)}`, start, end);
    const test = wholeText(piecesOf(filter, start, end));
    return (subject) => {
      const found = read(subject);
      if (Array.isArray(found)) return found.some(test);
      return found !== undefined && test(String(found));
    };
  };
  return { operators: IS, example, values, predicate };
}

function batchKey(key: Key): Key {
  return { ...key, predicate: (value, operator) => onceForBatch(key.predicate(value, operator)) };
}

type Units = Readonly<Record<string, number>>;

function numberKey(
  example: string,
  units: Units,
  what: string,
  read: (subject: FilterSubject) => number | undefined,
): Key {
  const predicate = ({ filter, start, end }: Value, operator: string): Predicate => {
    const [, digits, unit = ''] = /^(\d{1,15}(?:\.\d{1,15})?)([a-z]*)$/i.exec(filter.slice(start, end)) ?? [];
    const factor = Object.hasOwn(units, unit.toLowerCase()) ? units[unit.toLowerCase()] : undefined;
    if (digits === undefined || factor === undefined) throw new FilterError(`${what}, as in ${example}`, start, end);
    const limit = Number(digits) * factor;
    const compare =
      {
        '>': (number: number) => number > limit,
        '>=': (number: number) => number >= limit,
        '<': (number: number) => number < limit,
      }[operator] ?? ((number: number) => number <= limit);
    return (subject) => {
      const number = read(subject);
      return number !== undefined && compare(number);
    };
  };
  return { operators: COMPARE, example, predicate };
}

/** `name` or `name=value`, for HTTP heads. */
function headerPredicate({ filter, start, end }: Value): Predicate {
  const equals = filter.slice(start, end).indexOf('=');
  const nameEnd = equals === -1 ? end : start + equals;
  const isName = wholeText(piecesOf(filter, start, nameEnd));
  const isValue: TextTest = equals === -1 ? () => true : wholeText(piecesOf(filter, nameEnd + 1, end));
  return ({ layer, text }) => {
    if (layer !== 'head') return false;
    const lines = text?.()?.split(/\r?\n/) ?? [];
    for (const line of lines.slice(1)) {
      if (line === '') return false;
      const colon = line.indexOf(':');
      if (colon > 0 && isName(line.slice(0, colon)) && isValue(line.slice(colon + 1).trim())) return true;
    }
    return false;
  };
}

/** `path` or `path=value`, for messages. */
function bodyPredicate({ filter, start, end }: Value): Predicate {
  const { steps, end: pathEnd } = readPath(filter, start, end);
  const isValue: TextTest = pathEnd === end ? () => true : wholeText(piecesOf(filter, pathEnd + 1, end));
  const matches = (value: unknown): boolean =>
    pathEnd === end || ((typeof value !== 'object' || value === null) && isValue(String(value)));
  const name = neededName(steps);
  return (subject) => {
    if (subject.layer !== 'message') return false;
    if (subject.json) return finds(subject.json, steps, matches);
    const text = subject.text?.();
    if (text === undefined) return false;
    // A message without the name need not be parsed. If it has backslashes, the name may be written with escapes.
    if (name !== undefined && !text.includes(name) && !text.includes('\\')) return false;
    try {
      return finds(JSON.parse(text), steps, matches);
    } catch {
      return false;
    }
  };
}
