import type { Server } from '../server/server.ts';
import { followRecords, type FollowedRecords } from './follow-records.ts';
import { RecordStore } from './record-store.ts';
import { WireView } from './wire-view.ts';

/** The records of the wire, as they come. There is one for the page. */
export class Wire {
  readonly store = new RecordStore();
  readonly view = new WireView(this.store);
  readonly source: FollowedRecords;

  constructor(server: Server) {
    this.source = followRecords(server, this.store);
  }
}
