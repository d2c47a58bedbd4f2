import { expect, test } from 'vitest';
import { Scopes, suffices } from './scopes.ts';

const granted = (...scopes: string[]) => ({ principal: 'ada', scopes });

test('a scope includes narrower scopes, and those that they include', () => {
  const scopes = new Scopes({ implies: { admin: ['write'], write: ['read'], read: ['admin'] } });
  expect(scopes.expand(granted('write', 'other')).scopes.toSorted()).toEqual(['admin', 'other', 'read', 'write']);
  const plain = granted('other');
  expect(scopes.expand(plain)).toBe(plain);
});

test('a scope does not include a broader one', () => {
  const scopes = new Scopes({ implies: { write: ['read'] } });
  expect(scopes.expand(granted('write')).scopes).toEqual(['write', 'read']);
  expect(scopes.expand(granted('read')).scopes).toEqual(['read']);
});

test('a scope may have the name of a property that every object has', () => {
  expect(new Scopes({ implies: { write: ['read'] } }).expand(granted('constructor')).scopes).toEqual(['constructor']);
});

test('a caller needs all required scopes', () => {
  expect(suffices(granted('read', 'write'), ['read', 'write'])).toBe(true);
  expect(suffices(granted('read'), ['read', 'write'])).toBe(false);
  expect(suffices(granted(), [])).toBe(true);
});

test('the scopes of a request are added to those that every request needs', () => {
  const scopes = new Scopes({ scopes: ['mcp', 'read'] });
  expect(scopes.of([])).toEqual(['mcp', 'read']);
  expect(scopes.of(['write', 'read'])).toEqual(['mcp', 'read', 'write']);
});

test.each([
  ['', 'Not a scope: ""'],
  ['two words', 'Not a scope: "two words"'],
  ['a"b', String.raw`Not a scope: "a\"b"`],
  ['a\\b', String.raw`Not a scope: "a\\b"`],
  ['ä', 'Not a scope: "ä"'],
  ['offline_access', 'offline_access is not a scope of a resource: remove it'],
])('%j is refused as a scope', (scope, message) => {
  const error = new TypeError(message);
  expect(() => new Scopes({ scopes: [scope] })).toThrow(error);
  expect(() => new Scopes({ implies: { admin: [scope] } })).toThrow(error);
});
