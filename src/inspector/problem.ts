import { printableLine } from '../base/printable.ts';
import { TimeoutError } from '../client/errors.ts';
import type { Problem } from '../inspect/page-server/page-api.ts';
import { errorChain, httpStatus } from '../jsonrpc/error-chain.ts';
import { McpErrorCode } from '../protocol/errors.ts';
import { UNKNOWN_ISSUER } from '../transport/http/client/reason.ts';
import { certificateOf } from './certificate.ts';

/** What the wire shows about a failed connection. */
export interface Evidence {
  /** The URL of the server. Undefined for a command. */
  readonly url?: URL | undefined;
  /** The first line of stdout that is not a message. */
  readonly noise?: string | undefined;
  /** The URL at which the server says how to log in (RFC 9728). */
  readonly metadata?: string | undefined;
}

/** An error of Node or of this package. */
interface Fault extends Error {
  readonly code?: unknown;
  readonly syscall?: string;
  readonly address?: string;
  readonly port?: number;
  /** How a command ended, if it has exited. */
  readonly summary?: string;
  readonly stderr?: string;
}

/** What the user can do about a certificate error. */
const CERTIFICATE_ADVICE: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'The server needs a new certificate.',
  CERT_NOT_YET_VALID: 'Check the clock of this machine.',
  ERR_TLS_CERT_ALTNAME_INVALID: 'Use a URL with a name of the certificate.',
};
const UNREACHABLE: ReadonlySet<unknown> = new Set([
  ...['EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT', 'ECONNRESET', 'EADDRNOTAVAIL', 'EACCES', 'EPIPE'],
]);

/** What is wrong with a command that writes this line to stdout. */
export function noiseProblem(noise: string): Problem {
  return {
    step: 'output',
    message: `The command wrote a line to stdout that is not a message: ${noise}`,
    advice: 'Only messages may go to stdout. A server writes its logs to stderr.',
  };
}

/** Why there is no connection, and what the user can do about it. */
export async function explain(error: unknown, evidence: Evidence): Promise<Problem> {
  const chain: Fault[] = [...errorChain(error)];
  const message = chain[0]?.message ?? String(error);
  const { url } = evidence;
  return (
    commandProblem(chain, evidence) ??
    revisionProblem(chain, message) ??
    (url && ((await tlsProblem(chain, url)) ?? networkProblem(chain, url) ?? httpProblem(chain, message, evidence))) ??
    silenceProblem(chain, message, evidence) ?? { message }
  );
}

function commandProblem(chain: readonly Fault[], { noise }: Evidence): Problem | undefined {
  const ended = chain.find(({ summary }) => summary !== undefined);
  const output = noise === undefined ? '' : ` It wrote to stdout: ${noise}`;
  if (ended) {
    const advice = ended.stderr === '' ? `It wrote nothing to stderr.${output}` : `${ended.stderr}${output}`;
    return { step: 'command', message: `${ended.summary}.`, advice };
  }
  const failed = chain.find(({ syscall }) => syscall?.startsWith('spawn'));
  if (!failed) return undefined;
  const { message } = chain.at(-2) ?? failed;
  return { step: 'command', message: `${message}.`, advice: 'Check the command, its folder and PATH.' };
}

async function tlsProblem(chain: readonly Fault[], url: URL): Promise<Problem | undefined> {
  const fault = chain.find(({ code }) => typeof code === 'string' && /CERT|^ERR_(SSL|TLS)_|^EPROTO$/.test(code));
  if (!fault) return undefined;
  const code = fault.code as string;
  if (!/CERT|ALTNAME/.test(code) && !UNKNOWN_ISSUER.has(code)) {
    const advice = 'If the port does not speak TLS, use http:// instead of https://.';
    return { step: 'tls', message: `The TLS handshake with ${url.host} failed (${code}).`, advice };
  }
  const certificate = (await certificateOf(url)) ?? '';
  const advice = UNKNOWN_ISSUER.has(code)
    ? 'If you trust it, start Everwire with NODE_EXTRA_CA_CERTS=<file>, a PEM file with the certificate that signed it (itself, if it is self-signed).'
    : CERTIFICATE_ADVICE[code];
  const message = printableLine(`The certificate of ${url.host} is refused: ${fault.message} (${code}).`);
  return { step: 'tls', message: `${message} ${certificate}`.trim(), advice };
}

function networkProblem(chain: readonly Fault[], url: URL): Problem | undefined {
  const code = (...codes: unknown[]): Fault | undefined => chain.find((each) => codes.includes(each.code));
  if (code('ENOTFOUND', 'EAI_AGAIN', 'EAI_NODATA', 'EAI_NONAME'))
    return {
      step: 'dns',
      message: `The host name ${url.hostname} was not found.`,
      advice: 'Check its spelling, and whether this machine is on the right network.',
    };
  const refused = code('ECONNREFUSED');
  if (refused) {
    const { address = url.hostname, port = url.port } = refused;
    const at = address.includes(':') ? `[${address}]` : address;
    return {
      step: 'connect',
      message: `${at}:${port} refused the connection.`,
      advice: 'Check whether the server runs, and whether the port is right.',
    };
  }
  const failed = chain.find((each) => UNREACHABLE.has(each.code) || each.message.startsWith('no connection within'));
  if (!failed) return undefined;
  return {
    step: 'connect',
    message: `${url.host} cannot be reached: ${failed.message}.`,
    advice: 'Check the host, the port, and firewalls and proxies between.',
  };
}

function httpProblem(chain: readonly Fault[], message: string, { metadata }: Evidence): Problem | undefined {
  const status = httpStatus(chain[0]);
  const isLoginFailed = chain.some(({ name }) => name === 'OAuthError');
  if (isLoginFailed || status === 401) {
    const what = isLoginFailed ? 'The server answered 401, and the login failed. ' : '';
    const where = metadata === undefined ? '' : ` The server says how to log in at ${metadata}`;
    const advice = `${what}If you have a token or a key, send it in a header, such as Authorization.${where}`;
    return { step: 'login', message, advice };
  }
  if (status === 403)
    return {
      step: 'http',
      message,
      advice: 'The server understood the request and refuses it. Other credentials may be needed.',
    };
  if (status === 404)
    return { step: 'http', message, advice: 'Is the path of the URL right? Many servers use /mcp or /sse.' };
  if (status !== undefined) return { step: 'http', message, advice: 'The records show what the server answered.' };
  if (chain.some(({ name }) => name === 'AnswerLost'))
    return { step: 'http', message, advice: 'If the port speaks TLS, use https:// instead of http://.' };
  return undefined;
}

function revisionProblem(chain: readonly Fault[], message: string): Problem | undefined {
  const isRefused = chain.some(({ code }) => code === McpErrorCode.UnsupportedProtocolVersion);
  if (!isRefused && !/\bserver speaks\b/.test(message)) return undefined;
  return { step: 'revision', message, advice: 'Connect without a revision, or with one that the server supports.' };
}

function silenceProblem(chain: readonly Fault[], message: string, { noise, url }: Evidence): Problem | undefined {
  if (noise !== undefined) return noiseProblem(noise);
  if (!chain.some((each) => each instanceof TimeoutError)) return undefined;
  const who = url ? 'server' : 'command';
  return { step: 'silence', message, advice: `The ${who} took the request and said nothing. Is it an MCP server?` };
}
