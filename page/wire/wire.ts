import { Lint } from '../lint/lint.ts';
import { startLintWorker } from '../lint/start-worker.ts';
import { follow, type Followed } from '../server/follow.ts';
import type { Server } from '../server/server.ts';
import { RecordStore } from './record-store.ts';
import { WireView } from './wire-view.ts';

/** The records of the wire, as they come. There is one for the page. */
export class Wire {
  readonly store = new RecordStore();
  readonly view = new WireView(this.store, (n) => this.lint.findings.at(n));
  readonly source: Followed;
  readonly lint: Lint;

  constructor(server: Server) {
    this.source = follow(server, this.store);
    this.lint = new Lint(this.store, this.source.version, startLintWorker);
  }
}
