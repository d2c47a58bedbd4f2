import { printableMessage } from '../../base/printable.ts';
import { ErrorCode, RpcError } from '../../jsonrpc/errors.ts';
import { guarded } from '../../jsonrpc/stderr-report.ts';
import type { Service } from '../../core/exchange.ts';
import type { Implementation } from '../../protocol/types.ts';
import {
  ConfigError,
  readConfig,
  type FleetConfig,
  type ServerConfig,
  type ConfigVariables,
} from '../config/config.ts';
import { watchConfig } from '../config/watch.ts';
import { LIST_CAPABILITIES } from './description.ts';
import { createFleet, type Fleet } from './fleet.ts';
import { Naming } from './names.ts';

/** One opened server. */
export interface ServerConnection {
  readonly service: Service;
  /** Closes it. Requests in flight fail. */
  close(): void | Promise<void>;
}

/** The names of servers that were added or removed, or whose entry has changed. */
export interface FleetChange {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
}

/** The options for opening the servers of a configuration. */
export interface OpenFleetOptions {
  /** Opens one server. It may connect later, with the first request. */
  readonly connect: (name: string, server: ServerConfig) => ServerConnection | Promise<ServerConnection>;
  /** The fleet's own name and version. Default: `everwire`. */
  readonly serverInfo?: Implementation | undefined;
  /** Milliseconds to wait for one server in a request to several. Default 10 000. */
  readonly timeout?: number | undefined;
  /** Whether to follow changes of the file. Default false. */
  readonly watch?: boolean | undefined;
  /** The values of variables in the file, when it is read again. */
  readonly variables?: ConfigVariables | undefined;
  /**
   * Called when a server does not respond, with its error; when the file cannot be used; and for each of its warnings.
   * Default: none.
   */
  readonly onwarning?: ((message: string, cause?: Error) => void) | undefined;
  /**
   * Called after a change. A changed server keeps its service in `services`. Also called, without names, when a file that
   * could not be used can be used again and has the same servers as before.
   */
  readonly onchange?: ((change: FleetChange) => void) | undefined;
}

/** The opened servers of a configuration file. */
export interface OpenFleet {
  /** All servers as one service. */
  readonly service: Service;
  /**
   * Each server separately, by its name, to be served at its own path. The map follows the file. A service works as
   * long as its name is in the map.
   */
  readonly services: ReadonlyMap<string, Service>;
  /**
   * Applies another configuration. Unchanged servers keep their connections and sessions. Resolves when the removed
   * servers are closed.
   *
   * @throws TypeError or RangeError, as `createFleet` does. Nothing has changed then.
   */
  update(config: FleetConfig): Promise<void>;
  /** Closes all servers, and stops following the file. */
  close(): Promise<void>;
}

/**
 * Opens the servers of a configuration. Resolves when all are opened. Does not wait for a response from any server.
 */
export async function openFleet(config: FleetConfig, options: OpenFleetOptions): Promise<OpenFleet> {
  const fleet = new ConfiguredFleet(config, options);
  await fleet.update(config);
  fleet.watch(config.file);
  return fleet;
}

interface Opened {
  /** The configuration that it was opened with. */
  readonly key: string;
  /** Which of its tools are shown. */
  readonly tools: string | undefined;
  readonly connection: ServerConnection;
  readonly failed: boolean;
}

class ConfiguredFleet implements OpenFleet {
  readonly services = new Map<string, Service>();
  readonly #options: OpenFleetOptions;
  readonly #onwarning: (message: string) => void;
  readonly #onchange: (change: FleetChange) => void;
  readonly #fleet: Fleet;
  #opened: ReadonlyMap<string, Opened> = new Map();
  #unwatch = (): void => {};
  /** Updates run one after the other. */
  #updating: Promise<void> = Promise.resolve();
  #begun = false;
  /** Whether the file could not be used when it was last read. */
  #unusable = false;
  /** Whether the next update confirms that the file can be used again. */
  #repaired = false;
  #closed = false;

  constructor({ separator }: FleetConfig, options: OpenFleetOptions) {
    const { serverInfo, timeout, onwarning, onchange } = options;
    this.#options = options;
    this.#onwarning = guarded(onwarning);
    this.#onchange = guarded(onchange);
    // Declared from the start for servers that are added later: a session cannot get new capabilities.
    const capabilities = LIST_CAPABILITIES;
    this.#fleet = createFleet({ members: [], capabilities, separator, serverInfo, timeout, onwarning });
  }

  get service(): Service {
    return this.#fleet.service;
  }

  update(config: FleetConfig): Promise<void> {
    const updating = this.#updating.then(() => this.#update(config));
    this.#updating = updating.catch(() => {});
    return updating;
  }

  watch(file: string): void {
    if (!this.#options.watch) return;
    let changed = false;
    let applying = false;
    const onchange = async (): Promise<void> => {
      changed = true;
      if (applying) return;
      applying = true;
      // While a removed server ends, the file may change several times. Then only its newest version counts.
      while (changed) {
        changed = false;
        await this.#apply(file);
      }
      applying = false;
    };
    this.#unwatch = watchConfig(file, () => void onchange());
  }

  /** Reads the file again, and applies it if it can be used. */
  async #apply(file: string): Promise<void> {
    let config: FleetConfig;
    try {
      config = readConfig(file, this.#options.variables);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      this.#unusable = true;
      this.#onwarning(`${error.message}; the servers stay unchanged`);
      return;
    }
    this.#repaired = this.#unusable;
    this.#unusable = false;
    await this.update(config).catch((error: unknown) =>
      this.#onwarning(`${file} was not applied: ${RpcError.from(error).message}`),
    );
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#unwatch();
    this.#fleet.close();
    await this.#updating;
    const opened = [...this.#opened];
    this.#opened = new Map();
    this.services.clear();
    await Promise.all(opened.map(([name, each]) => this.#end(name, each)));
  }

  async #update({ file, servers, separator, warnings = [] }: FleetConfig): Promise<void> {
    if (this.#closed) return;
    // Throws before anything is opened.
    void new Naming(servers, { separator });
    for (const warning of warnings) this.#onwarning(`${file}: ${warning}`);
    const repaired = this.#repaired;
    this.#repaired = false;
    const before = this.#opened;
    const opened = await Promise.all(servers.map((server) => this.#keepOrOpen(server, before.get(server.name))));
    const now = new Map(servers.map(({ name }, index) => [name, opened[index]!]));
    this.#fleet.update(
      servers.map(({ name, tools }) => ({ name, tools, service: now.get(name)!.connection.service })),
      { separator },
    );
    this.#opened = now;
    const names = [...now.keys()];
    const change = {
      added: names.filter((name) => !before.has(name)),
      removed: [...before.keys()].filter((name) => !now.has(name)),
      changed: names.filter((name) => before.has(name) && before.get(name) !== now.get(name)),
    };
    for (const name of change.removed) this.services.delete(name);
    for (const name of change.added) this.services.set(name, this.#fleet.member(name)!);
    const changed = Object.values(change).some((some) => some.length > 0);
    if (this.#begun && (changed || repaired)) this.#onchange(change);
    this.#begun = true;
    const over = [...before].filter(([name, each]) => now.get(name)?.connection !== each.connection);
    await Promise.all(over.map(([name, each]) => this.#end(name, each)));
  }

  async #keepOrOpen(server: ServerConfig, known: Opened | undefined): Promise<Opened> {
    // A change of the selected tools, or of the variables that other servers name, does not restart the server.
    const key = JSON.stringify({ ...server, tools: undefined, withheld: undefined });
    const tools = JSON.stringify(server.tools);
    if (known?.key === key && !known.failed) return known.tools === tools ? known : { ...known, tools };
    try {
      return { key, tools, connection: await this.#options.connect(server.name, server), failed: false };
    } catch (thrown) {
      const { message } = RpcError.from(thrown);
      this.#warn(`the server ${JSON.stringify(server.name)} cannot be opened: ${message}`);
      const error = new RpcError(ErrorCode.InternalError, message, { cause: thrown });
      return { key, tools, connection: { service: () => Promise.reject(error), close: () => {} }, failed: true };
    }
  }

  async #end(name: string, { connection }: Opened): Promise<void> {
    try {
      await connection.close();
    } catch (error) {
      this.#warn(`the server ${JSON.stringify(name)} did not close: ${RpcError.from(error).message}`);
    }
  }

  /** @param warning may contain text of a server. */
  #warn(warning: string): void {
    this.#onwarning(printableMessage(warning));
  }
}
