import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { TlsCredentials } from '../transport/http/listen.ts';

/** Where a renewed certificate goes, and how often it is looked for. */
export interface TlsWatch {
  /** Takes the new credentials: `(credentials) => listener.renewTls(credentials)`. */
  readonly renew: (credentials: TlsCredentials) => void;
  /** Told why a change was not taken up, once for each change. The earlier credentials stay, and it is tried again. */
  readonly onerror: (error: Error) => void;
  /** Milliseconds between looks. Default 10 000. */
  readonly interval?: number | undefined;
}

/** A certificate and its key in files, which somebody else renews. */
export interface TlsFiles {
  /** What the files held when they were last taken up. */
  readonly credentials: TlsCredentials;
  /**
   * Looks at the files from time to time, and takes up what has changed once certificate and key belong together. It does
   * so by their content, so it sees links that were turned elsewhere too. Does not keep the process alive.
   *
   * @returns a function that ends it.
   */
  watch(options: TlsWatch): () => void;
}

/**
 * Reads a certificate and its key, PEM each.
 *
 * @param cert path of the certificate, with those between it and a root behind it.
 * @param key path of the key, without a passphrase.
 * @throws Error that names the file that cannot be read or used.
 */
export async function tlsFiles(cert: string, key: string): Promise<TlsFiles> {
  let credentials = await read(cert, key);
  return {
    get credentials() {
      return credentials;
    },
    watch: ({ renew, onerror, interval = 10_000 }) => {
      /** The last that could not be used, and what was said of it. */
      let refused = '';
      let looking = false;
      const look = async (): Promise<void> => {
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
        if (looking) return;
        looking = true;
        void look().finally(() => {
          looking = false;
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
    throw new Error(`${certFile} and ${keyFile} are no certificate and its key: ${(cause as Error).message}`, {
      cause,
    });
  }
  return { cert, key };
}

async function contentOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new Error(`cannot read ${file}: ${(cause as NodeJS.ErrnoException).code}`, { cause });
  }
}
