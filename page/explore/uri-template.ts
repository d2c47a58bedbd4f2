/** A variable of a URI template. */
export interface Variable {
  readonly name: string;
  /** Whether its value is optional: it belongs to the query (`{?a}`, `{&a}`) or the fragment (`{#a}`). */
  readonly optional: boolean;
}

interface Operator {
  readonly first: string;
  readonly separator: string;
  /** Whether the name is written too: `name=value`. */
  readonly named: boolean;
  /** What follows the name of an empty value. */
  readonly empty: string;
  /** Whether reserved characters stay. */
  readonly reserved: boolean;
}

const PLAIN: Operator = { first: '', separator: ',', named: false, empty: '', reserved: false };

/** The operators of RFC 6570, appendix A. */
const OPERATORS: Readonly<Record<string, Operator>> = {
  '': PLAIN,
  '+': { ...PLAIN, reserved: true },
  '#': { ...PLAIN, first: '#', reserved: true },
  '.': { ...PLAIN, first: '.', separator: '.' },
  '/': { ...PLAIN, first: '/', separator: '/' },
  ';': { first: ';', separator: ';', named: true, empty: '', reserved: false },
  '?': { first: '?', separator: '&', named: true, empty: '=', reserved: false },
  '&': { first: '&', separator: '&', named: true, empty: '=', reserved: false },
};

const EXPRESSION = /\{([+#./;?&]?)([^{}]*)\}/g;
const VARIABLE = /^([\w.%]+)(?::(\d{1,4})|\*)?$/;

/** The variables of a template, each once, in order. */
export function variablesOf(template: string): Variable[] {
  const found = new Map<string, Variable>();
  for (const [, operator = '', list = ''] of template.matchAll(EXPRESSION)) {
    for (const each of list.split(',')) {
      const name = VARIABLE.exec(each)?.[1];
      if (name !== undefined && !found.has(name)) found.set(name, { name, optional: '?&#'.includes(operator || ' ') });
    }
  }
  return [...found.values()];
}

/**
 * The URI of a template with these values (RFC 6570; all values are strings, as MCP has them). A variable without a
 * value is left out. An expression that is malformed stays as it is.
 */
export function expand(template: string, values: Readonly<Record<string, string | undefined>>): string {
  return template.replaceAll(EXPRESSION, (whole, symbol: string, list: string) => {
    const operator = OPERATORS[symbol]!;
    const parts: string[] = [];
    for (const each of list.split(',')) {
      const [, name, length] = VARIABLE.exec(each) ?? [];
      if (name === undefined) return whole;
      const value = values[name];
      if (value === undefined) continue;
      const written = encode(
        length === undefined ? value : Array.from(value).slice(0, Number(length)).join(''),
        operator,
      );
      if (!operator.named) parts.push(written);
      else parts.push(written === '' ? `${name}${operator.empty}` : `${name}=${written}`);
    }
    return parts.length === 0 ? '' : operator.first + parts.join(operator.separator);
  });
}

const UNRESERVED = /[!'()*]/g;
const RESERVED = /%(?:3A|2F|3F|23|5B|5D|40|24|26|2B|2C|3B|3D)/g;

function encode(value: string, { reserved }: Operator): string {
  // A surrogate without a partner has no UTF-8.
  const whole = value.replaceAll(/\p{Cs}/gu, '\ufffd');
  if (!reserved) {
    return encodeURIComponent(whole).replaceAll(
      UNRESERVED,
      (letter) => `%${letter.codePointAt(0)!.toString(16).toUpperCase()}`,
    );
  }
  // Percent-encoded characters stay as they are (RFC 6570, section 3.2.3).
  return whole
    .split(/(%[\dA-Fa-f]{2})/)
    .map((part, index) => (index % 2 === 1 ? part : encodeURIComponent(part).replaceAll(RESERVED, decodeURIComponent)))
    .join('');
}
