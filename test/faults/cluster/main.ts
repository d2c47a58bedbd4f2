import { parseArgs } from 'node:util';
import { findRedis } from '../../support/redis-server.ts';
import { describeReport, describeViolation } from './describe.ts';
import { storm } from './storm.ts';
import { WEATHERS } from './chaos.ts';

/**
 * Runs a storm: several processes that share one Redis, clients of every revision, and faults that a seed chooses. Exits with
 * code 1 if anything contradicts the documentation.
 */

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
    minutes: { type: 'string', default: '30' },
    clients: { type: 'string', default: '300' },
    processes: { type: 'string', default: '4' },
    bridges: { type: 'string', default: '2' },
    pace: { type: 'string', default: '1' },
    weather: { type: 'string', default: 'all' },
  },
});
const number = (name: 'seed' | 'minutes' | 'clients' | 'processes' | 'bridges' | 'pace'): number => {
  const value = Number(values[name]);
  if (!(value >= 0)) throw new RangeError(`--${name} must be a number`);
  return value;
};
const weather = WEATHERS.find((name) => name === values.weather);
if (!weather) throw new RangeError(`--weather must be one of ${WEATHERS.join(', ')}`);
const redis = findRedis();
if (redis === undefined) process.exit(1);

// All child processes are killed when it exits.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

console.log(`seed ${number('seed')}: ${values.clients} clients, ${values.processes} processes`);
const report = await storm({
  redis,
  seed: number('seed'),
  duration: number('minutes') * 60_000,
  clients: number('clients'),
  processes: number('processes'),
  bridges: number('bridges'),
  pace: number('pace'),
  weather,
  onviolation: (violation) => console.log(`${violation.checker}: ${describeViolation(violation)}`),
  onprogress: ({ seconds, calls, violations, processes, faults }) =>
    console.log(
      `${String(seconds).padStart(5)} s: ${calls} calls, ${faults} faults, ${processes} processes, ${violations} violations`,
    ),
});
console.log(describeReport(report));
process.exit(report.violations.length > 0 ? 1 : 0);
