/** The error codes of a certificate whose issuer is unknown, such as a self-signed one. */
export const UNKNOWN_ISSUER: ReadonlySet<unknown> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** Why a connection failed, and what to do about it if the certificate is unknown. */
export function reasonOf({ message, code }: NodeJS.ErrnoException): string {
  const why = message || code || 'unknown';
  return UNKNOWN_ISSUER.has(code)
    ? `${why} (if you trust it, set NODE_EXTRA_CA_CERTS to a file with its certificate or its issuer's, in PEM)`
    : why;
}
