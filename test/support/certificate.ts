import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** Whether this machine can create certificates, with the command line of OpenSSL. */
export const canCertify = spawnSync('openssl', ['version']).status === 0;

/** A self-signed certificate for loopback, and its key, in PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

const EXPIRED_CA = `[ca]
default_ca = own
[own]
database = index
new_certs_dir = .
rand_serial = yes
default_md = sha256
policy = any
x509_extensions = names
[any]
commonName = supplied
[names]
subjectAltName = DNS:localhost,IP:127.0.0.1
`;

/**
 * Creates a certificate.
 *
 * @param name its subject, by which a test recognises it
 * @param expired whether it was valid only in January 2020
 */
export function certificate(name: string, expired = false): Certificate {
  const directory = mkdtempSync(path.join(tmpdir(), 'everwire-tls-'));
  const openssl = (...words: string[]): void => {
    const { status, stderr } = spawnSync('openssl', words, { cwd: directory, encoding: 'utf8' });
    if (status !== 0) throw new Error(`openssl made no certificate: ${stderr}`);
  };
  try {
    const [key, cert] = ['key.pem', 'cert.pem'].map((file) => path.join(directory, file));
    const newKey = 'req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'.split(' ');
    const subject = ['-subj', `/CN=${name}`, '-keyout', key!];
    if (expired) {
      writeFileSync(path.join(directory, 'ca.cnf'), EXPIRED_CA);
      writeFileSync(path.join(directory, 'index'), '');
      openssl(...newKey, ...subject, '-out', 'request.pem');
      openssl(
        ...'ca -batch -selfsign -notext -config ca.cnf -in request.pem'.split(' '),
        ...['-keyfile', key!, '-out', cert!, '-startdate', '20200101000000Z', '-enddate', '20200201000000Z'],
      );
    } else {
      const names = 'subjectAltName=DNS:localhost,IP:127.0.0.1';
      openssl(...newKey, '-x509', '-days', '2', ...subject, '-addext', names, '-out', cert!);
    }
    return { cert: readFileSync(cert!, 'utf8'), key: readFileSync(key!, 'utf8') };
  } finally {
    rmSync(directory, { recursive: true });
  }
}
