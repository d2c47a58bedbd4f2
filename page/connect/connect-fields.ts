import { isPeerUrl } from '../../src/base/peer-url.ts';
import type { ConnectCommand } from '../../src/inspect/page-server/page-api.ts';
import { profileOf } from '../../src/protocol/revisions.ts';

/** A header of the form. */
export interface HeaderRow {
  readonly name: string;
  readonly value: string;
}

/** What the user typed. */
export interface ConnectFields {
  readonly url: string;
  readonly headers: readonly HeaderRow[];
  /** Empty: the revision is negotiated. */
  readonly revision: string;
  /** Empty: the transport is detected. */
  readonly transport: string;
}

/** What is wrong with a field. */
export interface FieldProblem {
  readonly field: 'url' | 'headers';
  readonly message: string;
}

/** A header name is a token (RFC 9110, section 5.6.2). */
const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;

/** The command for the fields, or what is wrong with them. Nothing is corrected silently. */
export function connectCommand(fields: ConnectFields): { command: ConnectCommand } | { problem: FieldProblem } {
  const url = fields.url.trim();
  if (!/^https?:\/\//i.test(url)) return problem('url', 'Type a URL that begins with http:// or https://.');
  if (!isPeerUrl(url)) return problem('url', 'This is not a valid URL.');
  const named = fields.headers.filter(({ name, value }) => name !== '' || value !== '');
  for (const { name, value } of named) {
    if (!TOKEN.test(name))
      return problem('headers', name === '' ? 'Give each header a name.' : `${name} is not a valid header name.`);
    if (/[\0\r\n]/.test(value)) return problem('headers', `Remove the line break from the value of ${name}.`);
  }
  const names = named.map(({ name }) => name.toLowerCase());
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) return problem('headers', `Remove one of the two headers named ${twice}.`);
  const { transport } = fields;
  return {
    command: {
      url,
      ...revisionOf(fields),
      ...((transport === 'streamable-http' || transport === 'sse') && { transport }),
      ...(named.length > 0 && { headers: headersOf(named) }),
    },
  };
}

/** The only revision to use, if the user chose one. */
export function revisionOf({ revision }: ConnectFields): Pick<ConnectCommand, 'revision'> {
  const profile = profileOf(revision);
  return profile ? { revision: profile.revision } : {};
}

function headersOf(rows: readonly HeaderRow[]): Record<string, string> {
  return Object.fromEntries(rows.map(({ name, value }) => [name, value.trim()]));
}

function problem(field: FieldProblem['field'], message: string): { problem: FieldProblem } {
  return { problem: { field, message } };
}

/** Whether the value of a header with this name is masked until the user asks for it. */
export function isSecret(name: string): boolean {
  return !/^(?:accept|accept-language|content-type|user-agent|origin|referer|x-request-id|traceparent|)$/i.test(name);
}
