import { createHash, randomUUID } from 'node:crypto';
import { chmod, readdir, rename, stat, unlink } from 'node:fs/promises';
import path from 'node:path';
import { createFile, overwriteFile } from '../../base/create-file.ts';
import { retryInUse } from '../../base/file-in-use.ts';
import { makeFolder } from '../../base/make-folder.ts';
import { readRegularFile } from '../../base/regular-file.ts';
import { isObject, isStrings } from '../../jsonrpc/message.ts';
import { holdLock } from './lock-file.ts';
import { TOKEN } from './token-endpoint.ts';
import type { CredentialKey, StoredCredentials, TokenStore } from './token-store.ts';

/** The largest file that is read, in bytes. */
const MAX_FILE = 1024 * 1024;
/** How much disk space a section has for new credentials, in bytes: more than two tokens of the largest size need. */
const RESERVED = 64 * 1024;
const RESERVE = '.reserve';

interface Kept extends CredentialKey {
  readonly credentials: StoredCredentials;
}

/**
 * Keeps credentials in files that several processes may share. Each key has one file, readable by its owner only (0600),
 * in a folder that only its owner can enter (0700). A file that cannot be read as credentials is ignored, and the next
 * login replaces it.
 */
export class FileTokenStore implements TokenStore {
  readonly #folder: string;
  /** For the file of each section that runs: a file that holds the space for its next content. */
  readonly #reserves = new Map<string, string>();

  /** @param folder created at first use. Keep no other files in it. */
  constructor(folder: string) {
    this.#folder = path.resolve(folder);
  }

  async get(key: CredentialKey): Promise<StoredCredentials | undefined> {
    const kept = read(this.#file(key));
    return kept?.server === key.server && kept.issuer === key.issuer ? kept.credentials : undefined;
  }

  async set(key: CredentialKey, credentials: StoredCredentials): Promise<void> {
    await this.#prepare();
    const file = this.#file(key);
    const { server, issuer } = key;
    const fresh = await this.#write(file, JSON.stringify({ server, issuer, credentials }));
    try {
      await retryInUse(() => rename(fresh, file));
    } catch (error) {
      await remove(fresh);
      throw error;
    }
  }

  /**
   * Writes the next content of a file, into reserved space if there is some. A rotated refresh token works only once, so
   * its replacement must survive a power failure.
   *
   * @returns where it is.
   */
  async #write(file: string, content: string): Promise<string> {
    const reserve = this.#reserves.get(file);
    this.#reserves.delete(file);
    if (reserve !== undefined && (await overwriteFile(reserve, content).then(() => true, orMissing(false)))) {
      return reserve;
    }
    const fresh = `${file}.${randomUUID()}.new`;
    await createFile(fresh, content);
    return fresh;
  }

  async delete(key: CredentialKey): Promise<void> {
    await remove(this.#file(key));
  }

  async issuers(server: string): Promise<readonly string[]> {
    const prefix = `${digest(server)}-`;
    const names = await readdir(this.#folder).catch(orMissing<string[]>([]));
    const found: { issuer: string; at: number }[] = [];
    for (const name of names) {
      if (!name.startsWith(prefix) || !name.endsWith('.json')) continue;
      const file = path.join(this.#folder, name);
      const kept = read(file);
      const at = await stat(file, { bigint: true }).catch(orMissing(undefined));
      if (kept?.server === server && at) found.push({ issuer: kept.issuer, at: Number(at.mtimeNs / 1000n) });
    }
    return found.toSorted((a, b) => b.at - a.at).map(({ issuer }) => issuer);
  }

  /**
   * Reserves disk space first: a section may use up a refresh token, and must then be able to store the next one.
   *
   * @throws Error with the code `ENOSPC` if the disk is full. Nothing has run then.
   */
  async locked<T>(key: CredentialKey, section: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    await this.#prepare();
    const file = this.#file(key);
    // Its name is there from the beginning, because a new name may need space in the folder.
    const reserve = `${file}.${randomUUID()}${RESERVE}`;
    const release = await holdLock(`${file}.lock`, signal);
    try {
      await this.#removeReserves(file);
      await createFile(reserve, ' '.repeat(RESERVED));
      this.#reserves.set(file, reserve);
      return await section();
    } finally {
      this.#reserves.delete(file);
      try {
        await remove(reserve);
      } finally {
        await release();
      }
    }
  }

  /** A process that was killed may have left a reserve. */
  async #removeReserves(file: string): Promise<void> {
    const names = await readdir(this.#folder);
    const left = names.filter((name) => name.startsWith(`${path.basename(file)}.`) && name.endsWith(RESERVE));
    for (const name of left) await remove(path.join(this.#folder, name));
  }

  /** An existing folder may be open to other users. */
  async #prepare(): Promise<void> {
    await makeFolder(this.#folder);
    if (process.platform !== 'win32' && ((await stat(this.#folder)).mode & 0o077) !== 0)
      await chmod(this.#folder, 0o700);
  }

  #file({ server, issuer }: CredentialKey): string {
    return path.join(this.#folder, `${digest(server)}-${digest(issuer)}.json`);
  }
}

/** URLs contain characters that file names must not. */
function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

/** @throws Error if the file exists, but the system does not allow reading it. */
function read(file: string): Kept | undefined {
  try {
    const value: unknown = JSON.parse(readRegularFile(file, MAX_FILE).toString());
    return isKept(value) ? value : undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined || code === 'ENOENT') return undefined;
    throw error;
  }
}

function isKept(value: unknown): value is Kept {
  if (!isObject(value) || !isText(value['server']) || !isText(value['issuer'])) return false;
  const { credentials } = value;
  if (!isObject(credentials)) return false;
  const { client, tokens } = credentials;
  return (client === undefined || isClient(client)) && (tokens === undefined || isTokens(tokens));
}

function isClient(client: unknown): boolean {
  return isObject(client) && isText(client['clientId']) && isStrings(client['redirectUris']);
}

function isTokens(tokens: unknown): boolean {
  if (!isObject(tokens)) return false;
  const { accessToken, refreshToken, tokenType, scopes, resource, clientId, expiresAt = 0, refreshAt = 0 } = tokens;
  const { metadataUrl = '', dpopKey = {}, grantedScopes = [] } = tokens;
  return (
    [accessToken, refreshToken ?? '-'].every((token) => isText(token) && TOKEN.test(token)) &&
    (tokenType === 'Bearer' || tokenType === 'DPoP') &&
    isStrings(scopes) &&
    isStrings(grantedScopes) &&
    isText(resource) &&
    isText(clientId) &&
    isText(metadataUrl) &&
    isObject(dpopKey) &&
    typeof expiresAt === 'number' &&
    typeof refreshAt === 'number'
  );
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

async function remove(file: string): Promise<void> {
  await retryInUse(() => unlink(file)).catch(orMissing(undefined));
}

function orMissing<T>(instead: T): (error: NodeJS.ErrnoException) => T {
  return (error) => {
    if (error.code === 'ENOENT') return instead;
    throw error;
  };
}
