import { mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { canCertify, certificate, type Certificate } from '../../test/support/certificate.ts';
import type { TlsCredentials } from '../transport/http/server/listen.ts';
import { tlsFiles } from './tls-files.ts';

const [first, second] = canCertify ? [certificate('first'), certificate('second')] : [];

let directory: string;
let files: { cert: string; key: string };
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'everwire-tls-'));
  files = { cert: path.join(directory, 'cert.pem'), key: path.join(directory, 'key.pem') };
});
afterEach(() => {
  rmSync(directory, { recursive: true });
});

function put({ cert, key }: Partial<Certificate>): void {
  if (cert !== undefined) replace(files.cert, cert);
  if (key !== undefined) replace(files.key, key);
}

/** Nobody reads half of it. */
function replace(file: string, text: string): void {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}

describe.skipIf(!canCertify)('a certificate in files', () => {
  async function watched() {
    put(first!);
    const found = await tlsFiles(files.cert, files.key);
    const renew = vi.fn<(credentials: TlsCredentials) => void>();
    const onerror = vi.fn<(error: Error) => void>();
    const end = found.watch({ renew, onerror, interval: 5 });
    return { found, renew, onerror, end };
  }

  test('is read', async () => {
    put(first!);
    expect((await tlsFiles(files.cert, files.key)).credentials).toEqual(first);
  });

  test('is loaded again although onerror has thrown', async () => {
    const report = vi.spyOn(console, 'error').mockReturnValue();
    put(first!);
    const found = await tlsFiles(files.cert, files.key);
    const renew = vi.fn<(credentials: TlsCredentials) => void>();
    const onerror = (): never => {
      throw new Error('thrown by onerror');
    };
    const end = found.watch({ renew, onerror, interval: 5 });
    put({ cert: second!.cert });
    await vi.waitFor(() => expect(report).toHaveBeenCalledWith(expect.stringContaining('thrown by onerror')));
    put(second!);
    await vi.waitFor(() => expect(renew).toHaveBeenCalledExactlyOnceWith(second));
    end();
    report.mockRestore();
  });

  test('is loaded again when both files have changed', async () => {
    const { found, renew, onerror, end } = await watched();
    put({ cert: second!.cert });
    await vi.waitFor(() => expect(onerror).toHaveBeenCalledOnce());
    expect(onerror.mock.calls[0]![0].message).toMatch(/^the certificate was not renewed: .*cert\.pem and .*key\.pem/);
    expect(found.credentials).toEqual(first);
    put({ key: second!.key });
    await vi.waitFor(() => expect(renew).toHaveBeenCalledExactlyOnceWith(second));
    expect(found.credentials).toEqual(second);
    expect(onerror).toHaveBeenCalledOnce();
    end();
  });

  test('is loaded again when a symbolic link has another target', async () => {
    for (const [name, { cert, key }] of [
      ['one', first!],
      ['two', second!],
    ] as const) {
      writeFileSync(path.join(directory, `${name}.cert`), cert);
      writeFileSync(path.join(directory, `${name}.key`), key);
    }
    const turn = (name: string): void => {
      for (const each of ['cert', 'key']) {
        symlinkSync(path.join(directory, `${name}.${each}`), path.join(directory, 'new'));
        renameSync(path.join(directory, 'new'), path.join(directory, `${each}.pem`));
      }
    };
    turn('one');
    const found = await tlsFiles(files.cert, files.key);
    const renewed = new Promise<TlsCredentials>((renew) => {
      found.watch({ renew, onerror: () => {}, interval: 5 });
    });
    turn('two');
    expect(await renewed).toEqual(second);
  });

  test('is not renewed if it disappears or the listener refuses it', async () => {
    const { found, renew, onerror, end } = await watched();
    rmSync(files.key);
    await vi.waitFor(() => expect(onerror).toHaveBeenCalledOnce());
    expect(onerror.mock.calls[0]![0].message).toContain(`cannot read ${files.key}: there is no such file or folder`);
    renew.mockImplementationOnce(() => {
      throw new Error('busy');
    });
    put(second!);
    await vi.waitFor(() => expect(renew).toHaveBeenCalledTimes(2));
    expect(found.credentials).toEqual(second);
    end();
  });

  test('that does not match the key is refused with the names of the files', async () => {
    put({ cert: first!.cert, key: second!.key });
    await expect(tlsFiles(files.cert, files.key)).rejects.toThrow(
      `${files.cert} and ${files.key} are not a certificate`,
    );
  });
});

test('that is missing is named in the error', async () => {
  await expect(tlsFiles(files.cert, files.key)).rejects.toThrow(
    /^cannot read .*\.pem: there is no such file or folder$/,
  );
});
