/** The error codes of a certificate whose issuer is unknown, such as a self-signed one. */
export const UNKNOWN_ISSUER: ReadonlySet<unknown> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

const NO_TLS = /wrong version number|packet length too long/;

/** What the user can do about an error of Node whose message does not say it. */
const ADVICE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there: check that the server runs, and the port',
  ENOTFOUND: 'there is no such host: check the spelling, and the network',
  EAI_AGAIN: 'the host name cannot be looked up now: check the network',
  CERT_HAS_EXPIRED: 'the server needs a new certificate',
  CERT_NOT_YET_VALID: 'check the clock of this machine',
  ERR_TLS_CERT_ALTNAME_INVALID: 'use a host name that is in the certificate',
};

/**
 * Why a connection failed, and what to do about it if that is known. `reason.browser.ts` replaces this in browsers.
 */
export function reasonOf({ message, code }: NodeJS.ErrnoException): string {
  const why = message || code || 'unknown';
  // The message of OpenSSL is for its developers.
  if (NO_TLS.test(why)) return 'its port does not speak TLS: use http:// instead of https://';
  const advice = UNKNOWN_ISSUER.has(code)
    ? "if you trust it, set NODE_EXTRA_CA_CERTS to a file with its certificate or its issuer's, in PEM"
    : ADVICE[code ?? ''];
  return advice === undefined ? why : `${why} (${advice})`;
}
