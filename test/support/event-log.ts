import type { EventLog } from '../../src/store/event-log.ts';
import { memoryEventLog } from '../../src/store/memory.ts';

/** A log in memory, with some methods replaced. A stream opens with `append`. */
export function logWith(changes: (log: EventLog) => Partial<EventLog>, log: EventLog = memoryEventLog()): EventLog {
  const plain: EventLog = {
    open: (session, stream) => changed.append(session, stream, undefined),
    append: (...args) => log.append(...args),
    end: (...args) => log.end(...args),
    after: (...args) => log.after(...args),
    find: (...args) => log.find(...args),
    unfinished: (...args) => log.unfinished(...args),
    drop: (...args) => log.drop(...args),
  };
  const changed: EventLog = { ...plain, ...changes(plain) };
  return changed;
}
