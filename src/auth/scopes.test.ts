import { expect, test } from 'vitest';
import { Scopes, suffices } from './scopes.ts';

const granted = (...scopes: string[]) => ({ principal: 'ada', scopes });

test('a scope implies narrower ones, and what these imply', () => {
  const scopes = new Scopes({ implies: { admin: ['write'], write: ['read'], read: ['admin'] } });
  expect(scopes.expand(granted('write', 'other')).scopes.toSorted()).toEqual(['admin', 'other', 'read', 'write']);
  const plain = granted('other');
  expect(scopes.expand(plain)).toBe(plain);
});

test('a scope implies no broader one', () => {
  const scopes = new Scopes({ implies: { write: ['read'] } });
  expect(suffices(scopes.expand(granted('read')), ['write'])).toBe(false);
  expect(suffices(scopes.expand(granted('write')), ['read', 'write'])).toBe(true);
});

test('a name that every object has is a scope like any other', () => {
  expect(new Scopes({ implies: { write: ['read'] } }).expand(granted('constructor')).scopes).toEqual(['constructor']);
});

test('what a request needs comes beside what every one does', () => {
  const scopes = new Scopes({ scopes: ['mcp', 'read'] });
  expect(scopes.of([])).toEqual(['mcp', 'read']);
  expect(scopes.of(['write', 'read'])).toEqual(['mcp', 'read', 'write']);
});

test.each(['', 'two words', 'a"b', 'a\\b', 'ä', 'offline_access'])('%j cannot be asked for', (scope) => {
  expect(() => new Scopes({ scopes: [scope] })).toThrow(TypeError);
  expect(() => new Scopes({ implies: { admin: [scope] } })).toThrow(TypeError);
});
