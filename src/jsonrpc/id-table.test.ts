import * as fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { garbageCollector } from '../../test/support/garbage-collector.ts';
import { IdTable } from './id-table.ts';

test('holds any number of ids', () => {
  const table = new IdTable<string, number>();
  for (let index = 0; index < 200_000; index += 1) table.set(`a${index}`, index);
  expect(table.values()).toHaveLength(200_000);
});

test('finds nothing for what is no id: a peer may send anything', () => {
  const table = new IdTable<number, string>();
  table.set(0, 'zero');
  for (const odd of [{ toString: 1 }, [{ valueOf: 1 }], {}, [], null, true]) {
    const id = odd as unknown as number;
    expect([table.get(id), table.has(id), table.delete(id)]).toEqual([undefined, false, false]);
  }
  expect(table.size).toBe(1);
});

test('behaves like a map, with ids of any kind and in any order', () => {
  // Ids with the same hash, of both kinds and far apart.
  const ids = [0, 1, 2, 64, 65, 128, 2 ** 32, 2 ** 53 - 1, -1, '0', '1', 'a'];
  const step = fc.tuple(fc.constantFrom('set', 'delete', 'clear'), fc.constantFrom(...ids), fc.nat());
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200, size: 'medium' }), (steps) => {
      const table = new IdTable<string | number, number>();
      const map = new Map<string | number, number>();
      for (const [what, id, value] of steps) {
        const had = map.has(id);
        let deleted = had;
        if (what === 'set') {
          table.set(id, value);
          map.set(id, value);
        } else if (what === 'delete') {
          deleted = table.delete(id);
          map.delete(id);
        } else if (value % 8 === 0) {
          table.clear();
          map.clear();
        }
        expect(deleted).toBe(had);
        expect(table.size).toBe(map.size);
        for (const each of ids) expect([table.has(each), table.get(each)]).toEqual([map.has(each), map.get(each)]);
      }
      expect(new Map(table.entries())).toEqual(map);
      expect(table.values()).toEqual(table.keys().map((id) => map.get(id)));
    }),
  );
});

test('lists ids in flight in the order of insertion, even with one slow request among many', () => {
  const table = new IdTable<number, string>();
  for (let id = 1; id <= 1000; id += 1) {
    table.set(id, `call ${id}`);
    if (id > 100 && id - 100 !== 3) table.delete(id - 100);
  }
  expect(table.size).toBe(101);
  const ids = Array.from({ length: 100 }, (_, index) => 901 + index);
  expect(table.keys()).toEqual([3, ...ids]);
  expect(table.values()[0]).toBe('call 3');
});

test('finds nothing for a value that is not an id', () => {
  const table = new IdTable<string | number, string>();
  for (const id of [undefined, null, {}, NaN, true] as unknown as number[]) {
    expect([table.get(id), table.has(id), table.delete(id), table.size]).toEqual([undefined, false, false, 0]);
  }
});

test('finds nothing for the same id in another type', () => {
  const table = new IdTable<string | number, string>();
  table.set(5, 'number');
  expect([table.get('5'), table.has('5'), table.delete('5')]).toEqual([undefined, false, false]);
  table.set('5', 'string');
  expect([table.get(5), table.get('5'), table.get(undefined)]).toEqual(['number', 'string', undefined]);
});

test('does not keep a deleted entry in memory', async () => {
  const collect = garbageCollector();
  const table = new IdTable<number, object>();
  const held = [1, 65].map((id) => {
    const value = {};
    table.set(id, value);
    return new WeakRef(value);
  });
  table.delete(1);
  table.delete(65);
  await vi.waitFor(() => {
    collect();
    expect(held.every((each) => each.deref() === undefined)).toBe(true);
  });
  expect(table.size).toBe(0);
});
