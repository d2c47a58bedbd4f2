import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { isObject, type JsonObject } from '../../../../jsonrpc/message.ts';
import { LATEST_LEGACY_REVISION, LEGACY_REVISIONS, profileOf } from '../../../../protocol/revisions.ts';
import { Recent } from '../../../../base/recent.ts';
import { checkStateKey } from '../../../../base/state-key.ts';

/** How long after its beginning a session can be revived. Milliseconds. */
const LIFETIME = 24 * 3_600_000;
/** How many ended sessions a process remembers, so that it does not revive them. */
const MAX_ENDED = 10_000;
/** A widely used gateway refuses longer ids. */
const MAX_CHARACTERS = 128;
/** A group of 5 bytes is written as 8 characters of base 32, `0` to `9` and `a` to `v` (RFC 4648, section 7). */
const GROUP = { bytes: 5, characters: 8 };
const MAX_BYTES = (MAX_CHARACTERS / GROUP.characters) * GROUP.bytes;
const WRITTEN = /^(?:[0-9a-v]{8}){1,16}$/;
const IV_BYTES = 12;
const TAG_BYTES = 16;
/** The time in seconds, the revision, the capabilities. */
const FIXED_BYTES = 4 + 1 + 3;

/**
 * The capabilities that an id can say, each as one bit: the names of nested members, and the value. The order must not
 * change, so new ones are added at the end.
 */
const CAPABILITIES: readonly (readonly [path: string, value: unknown])[] = [
  ['roots', {}],
  ['roots:listChanged', true],
  ['sampling', {}],
  ['sampling:context', {}],
  ['sampling:tools', {}],
  ['elicitation', {}],
  ['elicitation:form', {}],
  ['elicitation:form:applyDefaults', true],
  ['elicitation:url', {}],
  ['tasks', {}],
  ['tasks:list', {}],
  ['tasks:cancel', {}],
  ['tasks:requests', {}],
  ['tasks:requests:sampling', {}],
  ['tasks:requests:sampling:createMessage', {}],
  ['tasks:requests:elicitation', {}],
  ['tasks:requests:elicitation:create', {}],
  ['roots:listChanged', false],
  ['extensions', {}],
  ['extensions:io.modelcontextprotocol/tasks', {}],
  ['extensions:io.modelcontextprotocol/ui', { mimeTypes: ['text/html;profile=mcp-app'] }],
];

/**
 * Makes session ids that say how the session was opened: what the client sent with `initialize`, and when. The id is
 * encrypted with AES-256-GCM and belongs to one principal. So another process with the same key can revive the session,
 * without any storage.
 */
export class SessionSeal {
  readonly #key: Buffer;
  readonly #ended = new Recent(MAX_ENDED);

  /**
   * @param key a secret of at least 16 bytes, shared by the processes that revive each other's sessions.
   * @throws RangeError if the key is shorter.
   */
  constructor(key: string | Uint8Array) {
    checkStateKey(key);
    // Stryker disable next-line StringLiteral: the same secret seals request states, with another prefix
    this.#key = createHash('sha256').update('everwire-session').update(key).digest();
  }

  /**
   * An id of at most 128 characters, all of them lower-case letters and digits.
   *
   * @param params of `initialize`.
   * @returns undefined if an id cannot say all of it. Then the session cannot be revived.
   */
  seal(params: unknown, principal: string | undefined): string | undefined {
    const plain = toBytes(params);
    if (!plain) return undefined;
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key, iv).setAAD(ownerOf(principal));
    return toText(Buffer.concat([iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()]));
  }

  /**
   * The parameters of `initialize` that a session was opened with. Undefined if the id was not made with this key, for
   * this principal and within the last 24 hours, or if the session has ended in this process.
   */
  open(id: string, principal: string | undefined): JsonObject | undefined {
    const bytes = WRITTEN.test(id) && !this.#ended.has(id) ? fromText(id) : undefined;
    // Stryker disable next-line ArithmeticOperator,EqualityOperator: what is longer than a tag and shorter than this fails below
    if (!bytes || bytes.length < IV_BYTES + FIXED_BYTES + TAG_BYTES) return undefined;
    // Stryker disable next-line ObjectLiteral: the tag that is given has this length
    const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, IV_BYTES), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(ownerOf(principal)).setAuthTag(bytes.subarray(-TAG_BYTES));
    // Stryker disable BlockStatement: without a value, undefined is returned too
    try {
      return fromBytes(Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]));
    } catch {
      return undefined;
    }
    // Stryker restore BlockStatement
  }

  /** A session has ended: this process will not revive it. */
  end(id: string): void {
    this.#ended.add(id);
  }
}

function ownerOf(principal: string | undefined): Buffer {
  // Stryker disable next-line StringLiteral: any text that does not begin like that of a principal
  return Buffer.from(principal === undefined ? 'nobody' : `principal ${principal}`);
}

function toText(bytes: Buffer): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += GROUP.bytes)
    text += bytes.readUIntBE(at, GROUP.bytes).toString(32).padStart(GROUP.characters, '0');
  return text;
}

function fromText(text: string): Buffer {
  const groups = text.length / GROUP.characters;
  const bytes = Buffer.alloc(groups * GROUP.bytes);
  for (let group = 0; group < groups; group += 1) {
    const characters = text.slice(group * GROUP.characters, (group + 1) * GROUP.characters);
    bytes.writeUIntBE(Number.parseInt(characters, 32), group * GROUP.bytes, GROUP.bytes);
  }
  return bytes;
}

function toBytes(params: unknown): Buffer | undefined {
  if (!isObject(params) || !isObject(params['clientInfo']) || !isObject(params['capabilities'])) return undefined;
  const { name, version } = params['clientInfo'];
  if (typeof name !== 'string' || typeof version !== 'string') return undefined;
  const capabilities = bitsOf(params['capabilities']);
  if (capabilities === undefined) return undefined;
  const client = Buffer.from(JSON.stringify([name, version]).slice(2, -2));
  const sealed = IV_BYTES + FIXED_BYTES + client.length + TAG_BYTES;
  if (sealed > MAX_BYTES) return undefined;
  // Zeros at the end fill the last group.
  const bytes = Buffer.alloc(FIXED_BYTES + client.length + ((MAX_BYTES - sealed) % GROUP.bytes));
  bytes.writeUInt32BE(Math.floor(Date.now() / 1000));
  bytes.writeUInt8(LEGACY_REVISIONS.indexOf(spoken(params['protocolVersion'])), 4);
  bytes.writeUIntBE(capabilities, 5, 3);
  client.copy(bytes, FIXED_BYTES);
  return bytes;
}

function fromBytes(bytes: Buffer): JsonObject | undefined {
  if (bytes.readUInt32BE() * 1000 + LIFETIME < Date.now()) return undefined;
  // Stryker disable next-line Regex: JSON has no NUL, so all of them are at the end
  const client = bytes.subarray(FIXED_BYTES).toString().replace(/\0+$/, '');
  const [name, version] = JSON.parse(`["${client}"]`) as string[];
  return {
    protocolVersion: LEGACY_REVISIONS[bytes.readUInt8(4)],
    capabilities: capabilitiesOf(bytes.readUIntBE(5, 3)),
    clientInfo: { name, version },
  };
}

/** The revision that a server answers with (2025-11-25, basic/lifecycle: Version Negotiation). */
function spoken(requested: unknown) {
  // Stryker disable next-line ConditionalExpression: what is not a string is no revision either
  const profile = typeof requested === 'string' ? profileOf(requested) : undefined;
  return profile?.era === 'legacy' ? profile.revision : LATEST_LEGACY_REVISION;
}

/** Undefined if there are other capabilities too. */
function bitsOf(capabilities: JsonObject): number | undefined {
  let bits = 0;
  for (const [index, [path, value]] of CAPABILITIES.entries()) {
    let found: unknown = capabilities;
    for (const name of path.split(':')) found = isObject(found) ? found[name] : undefined;
    if (typeof value === 'boolean' ? found === value : found !== undefined) bits |= 1 << index;
  }
  return isSame(capabilitiesOf(bits), capabilities) ? bits : undefined;
}

/** Looks no deeper than the known value, because a client may nest the other one without limit. */
function isSame(known: unknown, given: unknown): boolean {
  if (Array.isArray(known))
    // Stryker disable next-line MethodExpression: the only known list has one entry
    return Array.isArray(given) && given.length === known.length && known.every((each, at) => isSame(each, given[at]));
  if (!isObject(known)) return known === given;
  const names = Object.keys(known);
  if (!isObject(given) || Object.keys(given).length !== names.length) return false;
  return names.every((name) => Object.hasOwn(given, name) && isSame(known[name], given[name]));
}

function capabilitiesOf(bits: number): JsonObject {
  const capabilities: JsonObject = {};
  for (const [index, [path, value]] of CAPABILITIES.entries()) {
    if ((bits & (1 << index)) === 0) continue;
    const names = path.split(':');
    const last = names.pop()!;
    let place = capabilities;
    for (const name of names) place = place[name] ??= {};
    place[last] = structuredClone(value);
  }
  return capabilities;
}
