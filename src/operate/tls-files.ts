import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { fileProblem } from '../base/file-problem.ts';
import { reportTo } from '../jsonrpc/stderr-report.ts';
import type { TlsCredentials } from '../transport/http/server/listen.ts';

/** What to do with a renewed certificate, and how often to check for one. */
export interface TlsWatch {
  /** Called with the new credentials: `(credentials) => listener.renewTls(credentials)`. */
  readonly renew: (credentials: TlsCredentials) => void;
  /**
   * Called with the reason if changed files were not used, once for each change. The earlier credentials stay in use,
   * and the files are checked again.
   */
  readonly onerror: (error: Error) => void;
  /** Milliseconds between checks. Default 10 000. */
  readonly interval?: number | undefined;
}

/** A certificate and its key in files that another program renews. */
export interface TlsFiles {
  /** The credentials that were last loaded. */
  readonly credentials: TlsCredentials;
  /**
   * Checks the files regularly, and loads changed ones as soon as certificate and key match. It compares content, so it
   * also sees changed symbolic links. Does not keep the process alive.
   *
   * @returns a function that stops it.
   */
  watch(options: TlsWatch): () => void;
}

/**
 * Reads a certificate and its key, PEM each.
 *
 * @param cert path of the certificate file, with intermediate certificates after the certificate.
 * @param key path of the key, without a passphrase.
 * @throws Error that names the file that cannot be read or used.
 */
export async function tlsFiles(cert: string, key: string): Promise<TlsFiles> {
  let credentials = await read(cert, key);
  return {
    get credentials() {
      return credentials;
    },
    watch: ({ renew, interval = 10_000, ...options }) => {
      const onerror = reportTo(options.onerror);
      /** The last content that could not be used, and its error. */
      let refused = '';
      let checking = false;
      const check = async (): Promise<void> => {
        try {
          const found = await read(cert, key);
          if (found.cert === credentials.cert && found.key === credentials.key) return;
          renew(found);
          credentials = found;
          refused = '';
        } catch (error) {
          const { message } = error as Error;
          if (message !== refused) onerror(new Error(`the certificate was not renewed: ${message}`, { cause: error }));
          refused = message;
        }
      };
      const timer = setInterval(() => {
        if (checking) return;
        checking = true;
        void check().finally(() => {
          checking = false;
        });
      }, interval);
      timer.unref();
      return () => clearInterval(timer);
    },
  };
}

async function read(certFile: string, keyFile: string): Promise<{ cert: string; key: string }> {
  const [cert, key] = await Promise.all([contentOf(certFile), contentOf(keyFile)]);
  try {
    createSecureContext({ cert, key });
  } catch (cause) {
    throw new Error(`${certFile} and ${keyFile} are not a certificate and its key: ${(cause as Error).message}`, {
      cause,
    });
  }
  return { cert, key };
}

async function contentOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new Error(`cannot read ${file}: ${fileProblem(cause)}`, { cause });
  }
}
