import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { Newest } from './newest.ts';

test('finds the newest present item, in any order of removal', () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 50 }), { maxLength: 500 }), (steps) => {
      const newest = new Newest<object>();
      let there: object[] = [];
      for (const step of steps) {
        // As many items are removed as are added.
        const gone = there[step - 25];
        if (gone) {
          newest.delete(gone);
          there = there.filter((one) => one !== gone);
        } else {
          const one = {};
          newest.add(one);
          there.push(one);
        }
        expect(newest.last).toBe(there.at(-1));
      }
    }),
  );
});

test('removing a missing item has no effect', () => {
  const newest = new Newest<string>();
  newest.delete('a');
  newest.add('b');
  newest.delete('a');
  expect(newest.last).toBe('b');
});
