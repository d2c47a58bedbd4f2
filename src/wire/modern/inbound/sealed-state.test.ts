import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Refusal } from '../../../core/refusal.ts';
import { StateSeal } from './sealed-state.ts';

const KEY = 'a key of 16 bytes';
const BINDING = { principal: 'ada', digest: 'abc' };
const STATE = { exchange: 'x', round: 3, notes: [['a', 1]] } as const;

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }));
afterEach(() => void vi.useRealTimers());

test('a sealed state opens to the original', () => {
  const seal = new StateSeal(undefined, 1000);
  expect(seal.open(seal.seal(STATE, BINDING), BINDING)).toMatchObject(STATE);
  const nobody = { principal: undefined, digest: 'abc' };
  expect(seal.open(seal.seal({ service: 'größe\u0000' }, nobody), nobody)).toMatchObject({ service: 'größe\u0000' });
});

test('a sealed state is unreadable, and different each time', () => {
  const seal = new StateSeal(KEY, 1000);
  const text = seal.seal({ service: 'the secret of ada' }, BINDING);
  expect(text).toMatch(/^ew1\.[\w-]+$/);
  expect(Buffer.from(text.slice(4), 'base64url').toString('latin1')).not.toMatch(/secret|ada|abc/);
  expect(seal.seal({ service: 'the secret of ada' }, BINDING)).not.toBe(text);
});

test('a sealed state is refused if any bit is changed', () => {
  const seal = new StateSeal(KEY, 1000);
  const bytes = Buffer.from(seal.seal(STATE, BINDING).slice(4), 'base64url');
  for (let bit = 0; bit < bytes.length * 8; bit += 1) {
    const changed = Buffer.from(bytes);
    changed[bit >> 3]! ^= 1 << (bit & 7);
    expect(() => seal.open(`ew1.${changed.toString('base64url')}`, BINDING)).toThrow(Refusal);
  }
});

test('a sealed state is refused if it is cut anywhere', () => {
  const seal = new StateSeal(KEY, 1000);
  const text = seal.seal(STATE, BINDING);
  for (let length = 0; length < text.length; length += 1) {
    expect(() => seal.open(text.slice(0, length), BINDING)).toThrow(Refusal);
  }
});

test('a sealed state has only one valid encoding, even if lax decoders accept others', () => {
  const seal = new StateSeal(KEY, 1000);
  // All three lengths that leave different numbers of bits in the last character.
  for (const service of ['a', 'ab', 'abc']) {
    const text = seal.seal({ service }, BINDING);
    const standard = Buffer.from(text.slice(4), 'base64url').toString('base64');
    const others = [
      `${text}=`,
      `${text}==`,
      `${text}\n`,
      ` ${text}`,
      `${text.slice(0, 9)}\n${text.slice(9)}`,
      `${text}.`,
    ];
    if (/[+/=]/.test(standard)) others.push(`ew1.${standard}`);
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    for (const last of alphabet) if (last !== text.at(-1)) others.push(text.slice(0, -1) + last);
    for (const other of others) expect(() => seal.open(other, BINDING)).toThrow(Refusal);
    expect(seal.open(text, BINDING)).toMatchObject({ service });
  }
});

test.each([undefined, null, 5, true, [], {}, '', 'ew1.', 'ew1', 'ew1.!!!!', 'step 1'])(
  '%j is not a sealed state',
  (text) => {
    expect(() => new StateSeal(KEY, 1000).open(text, BINDING)).toThrow('"requestState" is not valid');
  },
);

test('it is known whether a state in this format was made with another key', () => {
  const seal = new StateSeal(KEY, 1000);
  expect(() => seal.open('step 1', BINDING)).toThrow(Refusal);
  expect(() => seal.open(seal.seal(STATE, BINDING), { ...BINDING, principal: 'eve' })).toThrow(Refusal);
  expect(seal.failedToDecrypt).toBe(false);
  expect(() => seal.open(new StateSeal(undefined, 1000).seal(STATE, BINDING), BINDING)).toThrow(Refusal);
  expect(seal.failedToDecrypt).toBe(true);
});

test.each([
  ['another principal', { ...BINDING, principal: 'eve' }, 'another caller'],
  ['nobody', { ...BINDING, principal: undefined }, 'another caller'],
  ['another request', { ...BINDING, digest: 'abd' }, 'another request'],
])('a sealed state is refused for %s', (_, binding, why) => {
  const seal = new StateSeal(KEY, 1000);
  const text = seal.seal(STATE, BINDING);
  expect(() => seal.open(text, binding)).toThrow(why);
  expect(seal.open(text, BINDING)).toMatchObject(STATE);
});

test('the digest of a request is not computed for a state that is refused anyway', () => {
  const seal = new StateSeal(KEY, 1000);
  const text = seal.seal(STATE, BINDING);
  const unread = (principal: string) => ({
    principal,
    get digest(): string {
      throw new Error('computed');
    },
  });
  for (const forged of ['ew1.AAAA', `${text}A`]) expect(() => seal.open(forged, unread('ada'))).toThrow(Refusal);
  expect(() => seal.open(text, unread('eve'))).toThrow('another caller');
  vi.setSystemTime(Date.now() + 1000);
  expect(() => seal.open(text, unread('ada'))).toThrow('expired');
});

test('the principal and the request of a state are not read from the state itself', () => {
  const seal = new StateSeal(KEY, 1000);
  const text = seal.seal({ ...STATE, principal: 'eve', digest: 'x', until: Infinity } as typeof STATE, BINDING);
  expect(() => seal.open(text, { principal: 'eve', digest: 'x' })).toThrow(Refusal);
  vi.setSystemTime(Date.now() + 1000);
  expect(() => seal.open(text, BINDING)).toThrow('expired');
});

test('a sealed state is refused after it has expired', () => {
  const seal = new StateSeal(KEY, 1000);
  const text = seal.seal(STATE, BINDING);
  vi.setSystemTime(Date.now() + 999);
  expect(seal.open(text, BINDING)).toMatchObject(STATE);
  vi.setSystemTime(Date.now() + 1);
  expect(() => seal.open(text, BINDING)).toThrow('it has expired');
});

test('processes with the same key can open each other’s states, and other processes cannot', () => {
  const text = new StateSeal(KEY, 1000).seal(STATE, BINDING);
  expect(new StateSeal(Buffer.from(KEY), 1000).open(text, BINDING)).toMatchObject(STATE);
  for (const other of [undefined, `${KEY} `, KEY.toUpperCase()]) {
    expect(() => new StateSeal(other, 1000).open(text, BINDING)).toThrow('not made by this server');
  }
});

test('a state sealed by another version with the same key can be opened', () => {
  vi.setSystemTime(999);
  const text =
    'ew1.KPgFAVNXdF0ZVYkRJ0UbgYmgNKAqfhv0p69wIqFnnQbcvRuUC9VujNMKMAFwhB8gr-OTDb0yGj5kFnEdNNCeqB-undvevHUKwzNAZ8Z5P7nsLXL4KUJyYsAasU0iJmkiFJ-Bdg';
  expect(new StateSeal(KEY, 1000).open(text, BINDING)).toMatchObject({ exchange: 'x', round: 3 });
});

test('a key that is easy to guess is refused, and is not in the error', () => {
  const make = (key: string | Uint8Array) => () => new StateSeal(key, 1000);
  expect(make('fifteen bytes..')).toThrow(new RangeError('stateKey must have at least 16 bytes'));
  expect(make(new Uint8Array(15))).toThrow(RangeError);
  expect(make('')).toThrow(RangeError);
  expect(make('ä'.repeat(8))).not.toThrow();
});
