import { Counter, Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { joinMetrics } from './join-metrics.ts';

async function pageOf(worker: string, ...names: string[]): Promise<string> {
  const registry = new Registry();
  registry.setDefaultLabels({ worker });
  for (const name of names) new Counter({ name, help: 'a\ncount', registers: [registry] }).inc(Number(worker));
  return registry.metrics();
}

test('each metric comes once, with the series of all workers', async () => {
  const pages = { 1: await pageOf('1', 'calls', 'tools'), 2: await pageOf('2', 'calls'), 3: '' };
  expect(joinMetrics(pages)).toBe(`# HELP calls a\\ncount
# TYPE calls counter
calls{worker="1"} 1
calls{worker="2"} 2

# HELP tools a\\ncount
# TYPE tools counter
tools{worker="1"} 1

# HELP everwire_worker_up 1 if the worker has answered this request, else 0
# TYPE everwire_worker_up gauge
everwire_worker_up{worker="1"} 1
everwire_worker_up{worker="2"} 1
everwire_worker_up{worker="3"} 0
`);
});
