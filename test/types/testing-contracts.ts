import { MemoryTokenStore } from 'everwire/auth';
import { memoryEventLog } from 'everwire/http';
import { memoryTransportPair } from 'everwire/memory';
import { memoryTaskStore } from 'everwire/server';
import {
  eventLogSuite,
  taskStoreSuite,
  tokenStoreSuite,
  transportSuite,
  type SuiteCase,
  type TransportPair,
} from 'everwire/testing/contracts';

const pair = async (): Promise<TransportPair> => {
  const [a, b] = memoryTransportPair();
  return { a, b };
};
export const cases: readonly SuiteCase[] = [
  ...eventLogSuite((bounds) => memoryEventLog(bounds)),
  ...taskStoreSuite((bounds) => memoryTaskStore(bounds)),
  ...tokenStoreSuite(() => {
    const store = new MemoryTokenStore();
    return [store, store];
  }),
  ...transportSuite(pair),
];
