import { test } from 'vitest';
import { busSuite } from '../testing/contracts/bus-suite.ts';
import { memoryBus } from './memory-bus.ts';

const suite = busSuite(async (count) => {
  const gone = new Set<string>();
  const join = memoryBus((node) => !gone.has(node));
  return Array.from({ length: count }, (_, n) => {
    const node = `n${n}`;
    return { node, bus: join(node), end: async () => void gone.add(node) };
  });
});

for (const { name, run } of suite) test(name, run);
