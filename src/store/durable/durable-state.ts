import { stateIn } from '../tables/state-in.ts';
import type { DurableContext, DurableState, DurableStateOptions } from './durable-types.ts';
import { SqlTable } from './sql-table.ts';

const MIB = 1024 * 1024;
/** Milliseconds between two alarms. */
const ALARM_INTERVAL = 3_600_000;

/**
 * Keeps the state of a server that runs in a Durable Object in the database of the object, so that it survives the end of the
 * object. The platform ends an object that has nothing to do, and each one when new code is deployed. Tasks that were running
 * end as failed.
 *
 * It uses a table `everwire` of the database, and the alarm of the object. Call it once for an object, in its constructor.
 *
 * @throws RangeError if a limit is negative or not a number.
 */
export function durableState(ctx: DurableContext, options: DurableStateOptions = {}): DurableState {
  const { storage } = ctx;
  const { sessions, events, tasks } = options;
  let isAlarmSet = false;
  const setAlarm = async (): Promise<void> => {
    if (isAlarmSet) return;
    isAlarmSet = true;
    await storage.setAlarm(Date.now() + ALARM_INTERVAL);
  };
  SqlTable.create(storage);
  const { recover, expire, ...state } = stateIn((name) => new SqlTable(storage, name, setAlarm), {
    sessions: { ...sessions, maxSessions: sessions?.maxSessions ?? 10_000 },
    events: { ...events, maxTotalBytes: events?.maxTotalBytes ?? 16 * MIB },
    tasks: { ...tasks, maxBytes: tasks?.maxBytes ?? 32 * MIB },
  });
  void ctx.blockConcurrencyWhile(async () => {
    isAlarmSet = (await storage.getAlarm()) !== null;
    // At once, because it fails if the class of the object has no `alarm`.
    await setAlarm();
    await recover();
  });
  return {
    ...state,
    expire: async () => {
      isAlarmSet = false;
      if (await expire()) await setAlarm();
    },
  };
}
