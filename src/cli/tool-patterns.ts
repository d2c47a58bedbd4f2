import { selectTools, withoutTool, type ToolSelection } from '../bridge/fleet/selection.ts';
import { compose, type Middleware } from '../core/exchange.ts';
import { isObject } from '../jsonrpc/message.ts';
import type { CleanLog } from '../operate/logs.ts';
import { Method } from '../protocol/methods.ts';
import type { BridgeSettings } from './bridge-settings.ts';

/** Applies `--allow-tool` and `--deny-tool` to each server of a bridge, and warns about patterns that match no tool. */
export class ToolPatterns {
  readonly #selection: ToolSelection;
  readonly #stdio: boolean;
  readonly #log: CleanLog;
  /** The servers whose tools are not known yet. */
  readonly #unchecked: Set<string>;
  /** The patterns of the command line that match no tool so far. */
  #unused: readonly string[];

  constructor(servers: readonly string[], { tools, stdio }: Pick<BridgeSettings, 'tools' | 'stdio'>, log: CleanLog) {
    this.#selection = tools;
    this.#stdio = stdio;
    this.#log = log;
    this.#unchecked = new Set(servers);
    this.#unused = withoutTool(tools, []);
  }

  /** @param own the server's entry in the file. It is checked here, and applied elsewhere. */
  select(server: string, own: ToolSelection): Middleware {
    const select = selectTools(this.#selection);
    if (!this.#stdio) return select;
    // Over stdio, the first list of the client serves for the check: another connection would be another process.
    const check: Middleware = (service) => async (exchange) => {
      const result = await service(exchange);
      const { tools, nextCursor } = result;
      if (exchange.method === Method.ListTools && Array.isArray(tools) && !nextCursor && !exchange.params['cursor']) {
        this.check(
          server,
          own,
          tools.flatMap((tool) => (isObject(tool) ? String(tool['name']) : [])),
        );
      }
      return result;
    };
    return (service) => compose(service, select, check);
  }

  /** @param tools the server's own names. Undefined if they are not known. */
  check(server: string, own: ToolSelection, tools: readonly string[] | undefined): void {
    if (!tools || !this.#unchecked.delete(server)) return;
    for (const pattern of withoutTool(own, tools)) {
      this.#log.write('warn', `${server} has no tool ${JSON.stringify(pattern)}, which its entry in the file names`);
    }
    const unused = withoutTool(this.#selection, tools);
    this.#unused = this.#unused.filter((pattern) => unused.includes(pattern));
    if (this.#unchecked.size > 0) return;
    for (const pattern of this.#unused) {
      const option = this.#selection.hide?.includes(pattern) ? '--deny-tool' : '--allow-tool';
      this.#log.write('warn', `${option} ${JSON.stringify(pattern)} matches no tool`);
    }
  }
}
