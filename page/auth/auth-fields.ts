import type { AuthorizationCommand } from '../../src/inspect/page-server/page-api.ts';
import { AUTHORIZED_REVISIONS, type AuthorizedRevision } from '../../src/auth/steps/step.ts';

/** What the user typed. */
export interface AuthFields {
  /** The id of a choice. Empty: the URL. */
  readonly choice: string;
  readonly url: string;
  readonly revision: AuthorizedRevision;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly clientMetadataUrl: string;
  readonly scope: string;
  readonly tool: string;
  readonly args: string;
}

export const EMPTY: AuthFields = {
  choice: '',
  url: '',
  revision: AUTHORIZED_REVISIONS.at(-1)!,
  clientId: '',
  clientSecret: '',
  clientMetadataUrl: '',
  scope: '',
  tool: '',
  args: '',
};

/** The command for the fields, or what is wrong with the URL. The server checks the other fields. */
export function authCommand(fields: AuthFields): { command: AuthorizationCommand } | { problem: string } {
  const { choice, url, revision, ...optional } = fields;
  if (choice === '' && !/^https?:\/\//i.test(url.trim()))
    return { problem: 'Type a URL that begins with http:// or https://.' };
  const given = Object.entries(optional).filter(([, value]) => value.trim() !== '');
  return {
    command: {
      ...(choice === '' ? { url: url.trim() } : { choice }),
      revision,
      ...Object.fromEntries(given),
    },
  };
}

/** A parameter of the authorization request, as the user changes it. */
export interface Parameter {
  readonly name: string;
  readonly value: string;
}

/** All parameters, without those that have no name. Undefined if nothing was changed. */
export function changedParameters(
  before: Readonly<Record<string, string>>,
  rows: readonly Parameter[],
): Record<string, string> | undefined {
  const named = rows.filter(({ name }) => name !== '');
  const after = Object.fromEntries(named.map(({ name, value }) => [name, value]));
  const isSame =
    Object.keys(before).length === Object.keys(after).length &&
    Object.entries(before).every(([name, value]) => after[name] === value);
  return isSame ? undefined : after;
}
