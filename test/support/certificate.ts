import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** Whether this machine can create certificates, with the command line of OpenSSL. */
export const canCertify = spawnSync('openssl', ['version']).status === 0;

/** A self-signed certificate for loopback, and its key, in PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/**
 * Creates a certificate.
 *
 * @param name its subject, by which a test recognises it
 */
export function certificate(name: string): Certificate {
  const directory = mkdtempSync(path.join(tmpdir(), 'everwire-tls-'));
  try {
    const [key, cert] = ['key.pem', 'cert.pem'].map((file) => path.join(directory, file));
    const { status, stderr } = spawnSync(
      'openssl',
      [
        ...'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2'.split(' '),
        ...['-subj', `/CN=${name}`, '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'],
        ...['-keyout', key!, '-out', cert!],
      ],
      { encoding: 'utf8' },
    );
    if (status !== 0) throw new Error(`openssl made no certificate: ${stderr}`);
    return { cert: readFileSync(cert!, 'utf8'), key: readFileSync(key!, 'utf8') };
  } finally {
    rmSync(directory, { recursive: true });
  }
}
