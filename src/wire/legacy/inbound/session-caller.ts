import type { Caller, Session } from '../../../core/exchange.ts';
import type { JsonObject } from '../../../jsonrpc/message.ts';
import type { LogLevel } from '../../../protocol/logging.ts';
import { LATEST_LEGACY_REVISION, type Revision } from '../../../protocol/revisions.ts';
import type { AuthInfo, Implementation } from '../../../protocol/types.ts';
import { Lifetime } from '../../../base/lifetime.ts';

/** The caller of a session. A later change of its log level applies to every exchange at once. */
export class SessionCaller implements Caller {
  revision: Revision = LATEST_LEGACY_REVISION;
  clientInfo: Implementation | undefined;
  capabilities: JsonObject = {};
  principal: string | undefined;
  auth: AuthInfo | undefined;
  address: string | undefined;
  logLevel: LogLevel | undefined;
  readonly session: SessionLifetime = new SessionLifetime();
}

class SessionLifetime extends Lifetime implements Session {
  static #count = 0;
  readonly id = `session-${++SessionLifetime.#count}`;
  sharedId: string | undefined;
  revived: boolean | undefined;
  endedEverywhere: boolean | undefined;
}
