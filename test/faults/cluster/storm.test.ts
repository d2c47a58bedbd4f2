import { describe, expect, test } from 'vitest';
import { findRedis } from '../../support/redis-server.ts';
import { describeReport } from './describe.ts';
import { storm } from './storm.ts';

/** Short storms. `npm run test:storm` runs long ones. */

const command = findRedis();

describe.skipIf(command === undefined)('a short storm', () => {
  test.each([
    ['that ends processes', 1, 'processes'],
    ['that ends Redis and its connections', 2, 'redis'],
    ['of everything', 3, 'all'],
  ] as const)('%s (seed %i)', { timeout: 600_000 }, async (_, seed, weather) => {
    const size = { duration: 5000, clients: 18, processes: 3, scale: 0.3 };
    const report = await storm({ redis: command!, seed, weather, ...size });
    if (report.violations.length > 0) throw new Error(describeReport(report));
    expect(report.ends.get('result')).toBeGreaterThan(0);
  });
});
