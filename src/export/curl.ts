import type { MaskOf, Masks } from './masks.ts';
import { originOf, type RecordedExchange } from './recorded-wire.ts';
import { variableOf } from './variables.ts';
import { isSecretName } from '../inspect/secrets.ts';

/** Headers that curl writes itself. */
const OF_CURL: ReadonlySet<string> = new Set(['host', 'content-length', 'transfer-encoding', 'connection']);
/** The name of a header (RFC 9110, section 5.6.2). Instead of one that begins with `@`, curl would send a file. */
const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;

/**
 * A shell script with one curl command for each HTTP request. Secrets are variables of the environment. A session id is a
 * variable too, because a server makes a new one.
 */
export function curlScript(exchanges: readonly RecordedExchange[], masks: Masks): string {
  const variables = new Set<string>();
  const commands = exchanges.map((exchange) => command(exchange, masks, variables));
  const lines = ['#!/bin/sh', '# The requests of a recording. Secrets are not in it.'];
  for (const name of variables) lines.push(`# ${name}: set it before you run this script.`);
  for (const name of variables) lines.push(`: "\${${name}:?}"`);
  return `${[...lines, '', ...commands].join('\n')}\n`;
}

function command({ n, request, body }: RecordedExchange, masks: Masks, variables: Set<string>): string {
  const [method, target] = request.first;
  // Nobody else can write it into a message or a URL.
  const mark = crypto.randomUUID();
  const marked: MaskOf = (name) => mark + variableOf(name) + mark;
  const withVariables = (text: string): string =>
    quoted(text).replaceAll(new RegExp(`${mark}(\\w+)${mark}`, 'g'), (_, variable: string) => {
      variables.add(variable);
      return `'"$${variable}"'`;
    });
  const url = masks.target(/^https?:/.test(target) ? target : `${originOf(request)}${target}`, marked);
  const words = [
    `curl --silent --show-error --no-buffer --globoff --max-time 10 --request ${quoted(method)} ${withVariables(url)}`,
  ];
  for (const [name, value] of request.headers) {
    if (OF_CURL.has(name.toLowerCase()) || !TOKEN.test(name)) continue;
    const isSession = name.toLowerCase() === 'mcp-session-id';
    if (!isSecretName(name) && !isSession) {
      words.push(`--header ${quoted(`${name}: ${masks.header(name, value)}`)}`);
      continue;
    }
    const variable = variableOf(name);
    variables.add(variable);
    words.push(`--header ${quoted(`${name}: `)}"$${variable}"`);
  }
  // Other options send the file that a body names after an `@`.
  if (body !== '') words.push(`--data-raw ${withVariables(masks.message(body, marked))}`);
  return `# Record ${n}\n${words.join(' \\\n  ')}\necho`;
}

/** A word of a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
