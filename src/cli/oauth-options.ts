import { fileProblem } from '../base/file-problem.ts';
import { readUtf8File } from '../base/text-file.ts';
import { scopesIn, type OAuthSettings } from '../bridge/config/oauth.ts';
import { Failure } from './failure.ts';
import type { TargetFlags } from './options.ts';
import { MAX_SECRET_FILE } from './read-secret.ts';
import { variableIn } from './secrets.ts';

/** The options that say how to log in. */
export type OAuthFlags = Pick<TargetFlags, 'clientId' | 'clientSecret' | 'scope' | 'callbackPort'>;

/** How to log in, as the options say. @throws Failure with code 2 that contains no secret. */
export function readOAuthFlags(
  { clientId, clientSecret, scope, callbackPort }: OAuthFlags,
  env: Readonly<Record<string, string | undefined>>,
): { oauth?: OAuthSettings } {
  if (clientId === '') throw Failure.usage('--client-id must not be empty');
  const settings: OAuthSettings = {
    ...(clientId !== undefined && { clientId }),
    ...(clientSecret !== undefined && { clientSecret: readClientSecret(clientSecret, env) }),
    ...(callbackPort !== undefined && { callbackPort }),
    ...(scope.length > 0 && {
      scopes: scopesIn(scope, (problem) => {
        throw Failure.usage(`--scope ${problem}`);
      }),
    }),
  };
  return Object.keys(settings).length === 0 ? {} : { oauth: settings };
}

/**
 * The settings of a file, and over them those of the options.
 *
 * @throws Failure with code 2 if they do not fit together.
 */
export function mergeOAuth(
  file: OAuthSettings | undefined,
  options: OAuthSettings | undefined,
): { oauth?: OAuthSettings } {
  const { clientId, clientSecret, ...others } = file ?? {};
  // The secret in the file belongs to the client in the file.
  const client = options?.clientId === undefined ? { clientId, clientSecret } : {};
  const oauth = { ...others, ...client, ...options };
  if (oauth.clientSecret !== undefined && oauth.clientId === undefined) {
    throw Failure.usage('--client-secret needs the client that it belongs to: add --client-id');
  }
  return file || options ? { oauth } : {};
}

function readClientSecret(word: string, env: Readonly<Record<string, string | undefined>>): string {
  const name = variableIn(word);
  if (name !== undefined) {
    const value = env[name];
    if (!value) throw Failure.usage(`--client-secret needs the environment variable ${name}, which is not set`);
    return value;
  }
  if (!word.startsWith('@')) {
    throw Failure.usage(
      '--client-secret must be @file or env:NAME, because other users of this machine can see command lines',
    );
  }
  const file = word.slice(1);
  let text: string;
  try {
    text = readUtf8File(file, MAX_SECRET_FILE).trim();
  } catch (error) {
    throw Failure.usage(`--client-secret cannot read ${file}: ${fileProblem(error)}`);
  }
  if (text === '' || /[\r\n]/.test(text)) throw Failure.usage(`--client-secret needs one line in ${file}`);
  return text;
}
