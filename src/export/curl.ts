import { encodeUtf8 } from '../base/bytes.ts';
import { printable } from '../base/printable.ts';
import { isSecretName } from '../inspect/secrets.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { put } from '../jsonrpc/shape.ts';
import { Method } from '../protocol/methods.ts';
import { LaterValues, type LaterValue } from './later-values.ts';
import type { MaskOf, Masks } from './masks.ts';
import { messagesIn, originOf, type RecordedExchange } from './recorded-wire.ts';
import { variableOf } from './variables.ts';

/** Headers that curl writes itself. */
const OF_CURL: ReadonlySet<string> = new Set(['host', 'content-length', 'transfer-encoding', 'connection']);
/** The name of a header (RFC 9110, section 5.6.2). Instead of one that begins with `@`, curl would send a file. */
const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;
/** The longest time for a request, and for a stream that the server does not end. Seconds. */
const MAX_TIME = 60;
const STREAM_TIME = 5;

/**
 * A shell script with one curl command for each HTTP request. Secrets are variables of the environment. What a server
 * chooses anew each time, such as a session id, is taken from its response.
 */
export function curlScript(exchanges: readonly RecordedExchange[], masks: Masks): string {
  const variables = new Set<string>();
  const later = new LaterValues(exchanges);
  const commands = exchanges.map((exchange) => command(exchange, later, masks, variables));
  const lines = [
    '#!/bin/sh',
    '# The requests of a recording. Secrets are not in it.',
    `# --max-time ends a request after ${MAX_TIME} seconds.`,
  ];
  for (const name of variables) lines.push(`# ${name}: set it before you run this script.`);
  for (const name of variables) lines.push(`: "\${${name}:?}"`);
  if (later.all.length > 0)
    lines.push(
      '',
      '# Responses with something that a later request repeats.',
      'folder=$(mktemp -d) || exit 1',
      `trap 'rm -rf "$folder"' EXIT`,
      `trap 'exit 1' INT TERM`,
    );
  return `${[...lines, '', ...commands].join('\n')}\n`;
}

function command(exchange: RecordedExchange, later: LaterValues, masks: Masks, variables: Set<string>): string {
  const { n, request } = exchange;
  const [method, target] = request.first;
  // Nobody else can write it into a message or a URL.
  const mark = crypto.randomUUID();
  const marked: MaskOf = (name) => mark + variableOf(name) + mark;
  const withVariables = (text: string): string =>
    quoted(text).replaceAll(new RegExp(`${mark}(\\w+)${mark}`, 'g'), (_, variable: string) => {
      if (variable.startsWith('MCP_')) variables.add(variable);
      return `'"$${variable}"'`;
    });
  const url = masks.target(/^https?:/.test(target) ? target : `${originOf(request)}${target}`, marked);
  const sent = messagesIn(exchange.body);
  const asks = messagesIn(exchange.responseBody).some((each) => 'method' in each && 'id' in each);
  const isStream = asks || isEndless(exchange, sent);
  const notes = notesOn(exchange, later, { sent, asks, isStream });
  const time = isStream ? STREAM_TIME : MAX_TIME;
  const saved = later.from(n);
  const words = [
    `curl --silent --show-error --no-buffer --globoff --max-time ${time} --request ${quoted(method)} ${withVariables(url)}`,
    ...(saved.some(({ header }) => header) ? [`--dump-header "$folder/head"`] : []),
  ];
  for (const [name, value] of request.headers) {
    if (OF_CURL.has(name.toLowerCase()) || !TOKEN.test(name)) continue;
    const isSession = name.toLowerCase() === 'mcp-session-id';
    const session = isSession ? later.session(exchange) : undefined;
    if (!isSecretName(name) && !isSession) {
      words.push(`--header ${quoted(`${name}: ${masks.header(name, value)}`)}`);
      continue;
    }
    const variable = session?.variable ?? variableOf(name);
    if (!session) variables.add(variable);
    words.push(`--header ${quoted(`${name}: `)}"$${variable}"`);
  }
  const body = bodyOf(exchange, later, mark);
  // Other options send the file that a body names after an `@`.
  if (body !== '') words.push(`--data-raw ${withVariables(masks.message(body, marked))}`);
  const lines = [`# Record ${n}`, ...notes.map((note) => `# ${note}`)];
  lines.push(words.join(' \\\n  ') + (saved.some(({ header }) => !header) ? ' | tee "$folder/body"' : ''), 'echo');
  return [...lines, ...saved.map((each) => saving(each))].join('\n');
}

/** The body, with variables for what comes from earlier responses. */
function bodyOf(exchange: RecordedExchange, later: LaterValues, mark: string): string {
  const used = later.inBody(exchange);
  if (used.length === 0) return exchange.body;
  const message = JSON.parse(exchange.body) as JsonObject;
  let { params } = message as { params: JsonObject };
  for (const { param, variable } of used) params = put(params, param, mark + variable + mark);
  return JSON.stringify({ ...message, params });
}

/** A line that takes a value from a response. A value in JSON stays escaped as it is, for the next body. */
function saving({ variable, member, header }: LaterValue): string {
  if (header)
    return `${variable}=$(grep -i '^${member}:' "$folder/head" | tail -n 1 | sed 's/^[^:]*: *//' | tr -d '\\r')`;
  const value = String.raw`s/.*"${member}" *: *"(([^"\\]|\\.)*)".*/\1/p`;
  return `${variable}=$(sed -nE '${value}' "$folder/body" | tail -n 1)`;
}

interface Seen {
  readonly sent: readonly JsonObject[];
  /** Whether the server asks a question in the response, and waits for its answer. */
  readonly asks: boolean;
  readonly isStream: boolean;
}

/** What a user must know about a command. */
function notesOn(exchange: RecordedExchange, later: LaterValues, { sent, asks, isStream }: Seen): string[] {
  const { request, responseBody } = exchange;
  const notes: string[] = [];
  if (/^event: ?endpoint$/m.test(responseBody))
    notes.push(
      'HTTP+SSE: the session ends with this stream. For the requests below, run this command in another',
      'terminal without --max-time, and put the address that it prints into their URLs.',
    );
  if (isStream) notes.push(`The server keeps this stream open, so curl stops after ${STREAM_TIME} seconds.`);
  if (asks)
    notes.push('The server asks a question in this stream. While it waits for the answer, curl cannot send one.');
  if (sent.some((each) => !('method' in each) && 'id' in each))
    notes.push(
      'This answers a question of the recorded session. The server may refuse it: a new question has another id.',
    );
  if (request.header('last-event-id') !== undefined)
    notes.push('Last-Event-ID is of the recorded stream. The server may no longer have its events.');
  for (const param of later.oldIn(exchange))
    notes.push(`${param} is the recorded one, because no recorded response has it. The server may refuse it.`);
  return notes;
}

/** Whether the server keeps the stream of the response open. */
function isEndless({ request, response }: RecordedExchange, sent: readonly JsonObject[]): boolean {
  const isEvents = response?.header('content-type')?.startsWith('text/event-stream') === true;
  return (request.first[0] === 'GET' && isEvents) || sent.some(({ method }) => method === Method.Listen);
}

/** A word of a POSIX shell. Characters that could mislead its reader are written as octal numbers of their bytes. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`.replaceAll(/[^\t\n\u0020-\u007e]+/g, octal);
}

function octal(characters: string): string {
  if (printable(characters) === characters) return characters;
  const bytes = Array.from(encodeUtf8(characters), (byte) => `\\${byte.toString(8).padStart(3, '0')}`);
  return `'"$(printf '${bytes.join('')}')"'`;
}
