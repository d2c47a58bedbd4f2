import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { labelOf, MAX_NAME, NameTable, Naming, type NameRules } from './names.ts';

const rules = fc.record({
  names: fc.constantFrom('clash' as const, 'always' as const),
  separator: fc.constantFrom('__', '_', '-', '.', '._-'),
});
const word = fc.oneof(
  fc.constantFrom(
    'a',
    'b',
    'a_',
    'a__b',
    'b__c',
    'search',
    'a__search',
    'x_0123456789',
    'a0123456789',
    'A',
    '_',
    '-',
    '.',
  ),
  fc.string({ unit: fc.constantFrom('a', '_', '-', '.', 'B', '7', ' ', 'ä', '😀', '/'), minLength: 1, maxLength: 90 }),
);
/** Names by server. */
const fleets = fc
  .uniqueArray(fc.tuple(word, fc.uniqueArray(word, { maxLength: 8 })), {
    minLength: 1,
    maxLength: 5,
    selector: ([member]) => member,
  })
  .map((entries) => new Map(entries));

function outside(fleet: ReadonlyMap<string, readonly string[]>, naming: NameRules): Map<string, string> {
  const table = new NameTable(new Naming(fleet.keys(), naming), fleet);
  return new Map(
    [...fleet].flatMap(([member, names]) =>
      names.map((name) => [JSON.stringify([member, name]), table.outward(member, name)] as const),
    ),
  );
}

describe('the names of several servers', () => {
  test('are distinct, valid, at most 64 characters, and lead back', () => {
    fc.assert(
      fc.property(fleets, rules, (fleet, naming) => {
        const table = new NameTable(new Naming(fleet.keys(), naming), fleet);
        const seen = new Set<string>();
        for (const [member, names] of fleet) {
          for (const name of names) {
            const outer = table.outward(member, name);
            expect(outer).toMatch(/^[A-Za-z0-9_.-]+$/);
            expect(outer.length).toBeLessThanOrEqual(MAX_NAME);
            expect(seen).not.toContain(outer);
            seen.add(outer);
            expect(table.inward(outer)).toEqual([{ member, name }]);
          }
        }
      }),
      { numRuns: 1000 },
    );
  });

  test('do not depend on the order of the servers, nor of their names', () => {
    fc.assert(
      fc.property(fleets, rules, (fleet, naming) => {
        const turned = new Map([...fleet].map(([member, names]) => [member, names.toReversed()] as const).toReversed());
        expect(outside(turned, naming)).toEqual(new Map([...outside(fleet, naming)].toReversed()));
      }),
    );
  });

  test('do not change when another server comes, where they have their server’s before them', () => {
    fc.assert(
      fc.property(fleets, word, (fleet, other) => {
        const more = new Map(fleet).set(`${other}!`, ['a', 'search']);
        const rule = { names: 'always', separator: '__' } as const;
        const after = outside(more, rule);
        for (const [key, name] of outside(fleet, rule)) expect(after.get(key)).toBe(name);
      }),
    );
  });

  test('have their server’s before them where they clash', () => {
    const table = new NameTable(
      new Naming(['git', 'hub']),
      new Map([
        ['git', ['log', 'search', 'hub__x']],
        ['hub', ['search', 'pull']],
      ]),
    );
    expect(['log', 'search', 'hub__x'].map((name) => table.outward('git', name))).toEqual([
      'log',
      'git__search',
      'git__hub__x',
    ]);
    expect(['search', 'pull'].map((name) => table.outward('hub', name))).toEqual(['hub__search', 'pull']);
    // What a model remembers from before the clash is named by both.
    expect(table.inward('search')).toEqual([
      { member: 'git', name: 'search' },
      { member: 'hub', name: 'search' },
    ]);
    // What it remembers from the time of a clash goes on to work.
    expect(table.inward('git__log')).toEqual([{ member: 'git', name: 'log' }]);
    expect(table.inward('nothing')).toEqual([]);
  });

  test('are shortened at their end, by a hash that stays', () => {
    const naming = new Naming(['a server with a long name, and spaces'], { names: 'always' });
    expect(naming.prefixed('a server with a long name, and spaces', 'get the weather')).toBe(
      'aserverwithalongnamean366f5577ce__get_the_weather_1e0e0ffac0',
    );
  });

  test('a separator is made of what no hash is', () => {
    expect(() => new Naming([], { separator: 'a' })).toThrow(RangeError);
  });
});

test('labels are distinct, and can stand in a URI', () => {
  fc.assert(
    fc.property(fc.uniqueArray(word), (members) => {
      const labels = members.map(labelOf);
      expect(new Set(labels).size).toBe(members.length);
      for (const label of labels) expect(label).toMatch(/^[a-z0-9][a-z0-9.-]{0,41}$/);
    }),
  );
});
