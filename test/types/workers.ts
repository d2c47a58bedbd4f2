import { McpServer } from 'everwire/server';
import { durableState, type DurableContext, type DurableState, type DurableStateOptions } from 'everwire/workers';

const limits: DurableStateOptions = { sessions: { maxSessions: 1000 }, events: undefined, tasks: { maxTasks: 10 } };

export class Stored {
  readonly state: DurableState;
  readonly server: McpServer;

  constructor(ctx: DurableContext) {
    this.state = durableState(ctx, limits);
    this.server = new McpServer({ name: 'stored', version: '1', http: { state: this.state } });
  }

  alarm(): Promise<void> {
    return this.state.expire();
  }
}
