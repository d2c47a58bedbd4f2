import { ErrorCode, RpcError } from '../../jsonrpc/errors.ts';
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
import { createFleet, type Fleet } from './fleet.ts';

/** The way to one server. */
export interface ServerConnection {
  readonly service: Service;
  /** Ends it; what is in flight fails. */
  close(): void | Promise<void>;
}

/** Which servers came, went, or are others under their names. */
export interface FleetChange {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
}

/** How the servers of a configuration are opened. */
export interface OpenFleetOptions {
  /** Makes the way to one server. It may connect when it is first needed. */
  readonly connect: (name: string, server: ServerConfig) => ServerConnection | Promise<ServerConnection>;
  /** Who answers. Default: `everwire`. */
  readonly serverInfo?: Implementation | undefined;
  /** Milliseconds that one server is waited for where others answer, too. Default 10 000. */
  readonly timeout?: number | undefined;
  /** Whether changes of the file are taken up. Default false. */
  readonly watch?: boolean | undefined;
  /** What variables in the file stand for, when it is read anew. */
  readonly variables?: ConfigVariables | undefined;
  /** Told of servers that do not answer, and of a file that cannot be used. Default: nobody. */
  readonly onwarning?: ((message: string) => void) | undefined;
  /** Told once a change has been taken up. Of servers that have changed, the service in `services` is the same. */
  readonly onchange?: ((change: FleetChange) => void) | undefined;
}

/** The servers of a file, opened. */
export interface OpenFleet {
  /** All of them as one. */
  readonly service: Service;
  /**
   * Each by itself, by its name: to be served at a path of its own. The map is always as the file was last taken up, and
   * its services stay good while their names are in it.
   */
  readonly services: ReadonlyMap<string, Service>;
  /**
   * Takes another configuration: servers that are the same keep their connections, and so their sessions. Resolves when
   * those that went are closed.
   */
  update(config: FleetConfig): Promise<void>;
  /** Closes all servers, and stops to watch the file. */
  close(): Promise<void>;
}

/** The lists that a file may come to have servers for. What a session was told of capabilities stays told. */
const CAPABILITIES = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
};

/** Opens the servers of a configuration. Resolves when the ways to all of them are made; none has to answer for that. */
export async function openFleet(config: FleetConfig, options: OpenFleetOptions): Promise<OpenFleet> {
  const fleet = new ConfiguredFleet(config, options);
  await fleet.update(config);
  fleet.watch(config.file);
  return fleet;
}

interface Opened {
  /** What its connection was made of. */
  readonly key: string;
  readonly connection: ServerConnection;
  readonly failed: boolean;
}

class ConfiguredFleet implements OpenFleet {
  readonly services = new Map<string, Service>();
  readonly #options: OpenFleetOptions;
  readonly #fleet: Fleet;
  #opened: ReadonlyMap<string, Opened> = new Map();
  #unwatch = (): void => {};
  /** Changes are taken up one after the other. */
  #updating: Promise<void> = Promise.resolve();
  #begun = false;
  #closed = false;

  constructor({ separator }: FleetConfig, options: OpenFleetOptions) {
    const { serverInfo, timeout, onwarning } = options;
    this.#options = options;
    this.#fleet = createFleet({
      members: [],
      capabilities: CAPABILITIES,
      separator,
      serverInfo,
      timeout,
      onwarning,
    });
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
    const warn = this.#options.onwarning ?? (() => {});
    const onchange = (): void => {
      try {
        const config = readConfig(file, this.#options.variables);
        for (const warning of config.warnings) warn(`${file}: ${warning}`);
        this.update(config).catch((error: unknown) =>
          warn(`${file} was not taken up: ${RpcError.from(error).message}`),
        );
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error;
        warn(`${error.message}; the servers stay what they were`);
      }
    };
    this.#unwatch = watchConfig(file, onchange);
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

  async #update({ servers, separator }: FleetConfig): Promise<void> {
    if (this.#closed) return;
    const before = this.#opened;
    const change = { added: [] as string[], removed: [] as string[], changed: [] as string[] };
    const opened = await Promise.all(servers.map((server) => this.#keepOrOpen(server, before.get(server.name))));
    const now = new Map(servers.map(({ name }, index) => [name, opened[index]!]));
    const members = servers.map(({ name, tools }, index) => ({
      name,
      tools,
      service: opened[index]!.connection.service,
    }));
    try {
      this.#fleet.update(members, { separator });
    } catch (error) {
      const made = servers.flatMap(({ name }, index) =>
        before.get(name) === opened[index] ? [] : [[name, opened[index]!] as const],
      );
      await Promise.all(made.map(([name, each]) => this.#end(name, each)));
      throw error;
    }
    this.#opened = now;
    for (const [name, each] of now) {
      const known = before.get(name);
      if (!known) change.added.push(name);
      else if (known !== each) change.changed.push(name);
    }
    for (const name of before.keys()) if (!now.has(name)) change.removed.push(name);
    for (const name of change.removed) this.services.delete(name);
    for (const name of change.added) this.services.set(name, this.#fleet.member(name)!);
    // Nothing is asked of these any more.
    const over = [...before].filter(([name, each]) => now.get(name) !== each);
    if (this.#begun && Object.values(change).some((some) => some.length > 0)) this.#options.onchange?.(change);
    this.#begun = true;
    await Promise.all(over.map(([name, each]) => this.#end(name, each)));
  }

  async #keepOrOpen(server: ServerConfig, known: Opened | undefined): Promise<Opened> {
    // A change of the tools that are shown, or of the variables that others name, does not restart the server.
    const key = JSON.stringify({ ...server, tools: undefined, withheld: undefined });
    if (known?.key === key && !known.failed) return known;
    try {
      return { key, connection: await this.#options.connect(server.name, server), failed: false };
    } catch (thrown) {
      const { message } = RpcError.from(thrown);
      this.#options.onwarning?.(`the server ${JSON.stringify(server.name)} cannot be opened: ${message}`);
      const error = new RpcError(ErrorCode.InternalError, message, { cause: thrown });
      return { key, connection: { service: () => Promise.reject(error), close: () => {} }, failed: true };
    }
  }

  async #end(name: string, { connection }: Opened): Promise<void> {
    try {
      await connection.close();
    } catch (error) {
      this.#options.onwarning?.(`the server ${JSON.stringify(name)} did not close: ${RpcError.from(error).message}`);
    }
  }
}
