import type { Exchange } from '../../core/exchange.ts';
import { RpcError } from '../../jsonrpc/errors.ts';
import { isObject, type JsonObject } from '../../jsonrpc/message.ts';
import { Method } from '../../protocol/methods.ts';
import { declaresTasks } from '../../protocol/tasks.ts';
import { LISTS } from './kinds.ts';
import { isSame } from './same.ts';
import type { FleetMember, Members } from './members.ts';

/** What is remembered of a description; the rest of it is passed on, and kept by nobody. */
const REMEMBERED: ReadonlySet<string> = new Set([...LISTS.values()].map(({ capability }) => capability));
/** How the tasks extension is remembered, beside the capabilities of lists. */
const TASKS_EXTENSION = 'extensions.tasks';

/** What the servers can do, as they have told one caller: they need not tell everybody the same. */
export class Capabilities {
  readonly #members: Members;
  readonly #declared = new Map<FleetMember, ReadonlySet<string>>();
  readonly #describing = new Map<FleetMember, Promise<JsonObject>>();
  readonly #having = new Map<string, readonly FleetMember[]>();
  #havingVersion = -1;
  #learned = 0;

  constructor(members: Members) {
    this.#members = members;
  }

  /** Grows with what is learned, for those who made something of it. */
  get version(): number {
    return this.#members.version + this.#learned;
  }

  /** Those that may have what needs a capability, in order. */
  having(capability: string): readonly FleetMember[] {
    if (this.#havingVersion !== this.version) {
      this.#having.clear();
      this.#havingVersion = this.version;
    }
    let having = this.#having.get(capability);
    if (!having) {
      having = [...this.#members].filter((member) => this.#declared.get(member)?.has(capability) ?? true);
      this.#having.set(capability, having);
    }
    return having;
  }

  /** Whether a server may tell that a list has changed. One that has not described itself may. */
  tellsChanges(member: FleetMember, capability: string): boolean {
    return this.#declared.get(member)?.has(changes(capability)) ?? true;
  }

  /** Whether any server says that it has tasks: those of 2025-11-25, those of the extension. */
  tasks(): { readonly core: boolean; readonly extension: boolean } {
    const any = (name: string): boolean =>
      [...this.#members].some((member) => this.#declared.get(member)?.has(name) === true);
    return { core: any('tasks'), extension: any(TASKS_EXTENSION) };
  }

  /** The servers are others now. */
  update(): void {
    for (const member of this.#declared.keys()) if (!this.#members.has(member)) this.#declared.delete(member);
    this.#having.clear();
  }

  /** Lets all servers describe themselves that have not. Resolves with those that do not answer. */
  async describeAll(exchange: Exchange): Promise<ReadonlySet<FleetMember>> {
    const all = [...this.#members];
    const answers = await Promise.all(all.map((member) => this.#answers(member, exchange)));
    return new Set(all.filter((_, index) => !answers[index]));
  }

  /**
   * Lets a server describe itself, also where it has: where the caller has a session, it begins so. It may take its time,
   * for it may have to be started first: it is waited for as long as others are, and heard when it comes.
   *
   * @returns undefined where it does not answer.
   */
  describe(member: FleetMember, exchange: Exchange): Promise<JsonObject | undefined> {
    return this.#inTime(member, exchange, this.#describe(member, exchange));
  }

  async #answers(member: FleetMember, exchange: Exchange): Promise<boolean> {
    if (this.#declared.has(member) && !member.down) return true;
    let describing = this.#describing.get(member);
    if (!describing) {
      describing = this.#describe(member, exchange).finally(() => this.#describing.delete(member));
      this.#describing.set(member, describing);
    }
    return (await this.#inTime(member, exchange, describing)) !== undefined;
  }

  async #inTime(
    member: FleetMember,
    exchange: Exchange,
    describing: Promise<JsonObject>,
  ): Promise<JsonObject | undefined> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const patience = this.#members.patience(member);
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(resolve, patience, undefined);
    });
    try {
      const description = await Promise.race([describing, late]);
      if (!description) this.#members.failed(member, Method.Discover, new Error(`no answer within ${patience} ms`));
      return description;
    } catch (error) {
      if (!exchange.signal.aborted) this.#members.failed(member, Method.Discover, RpcError.from(error));
      return undefined;
    } finally {
      clearTimeout(timer);
    }
  }

  async #describe(member: FleetMember, exchange: Exchange): Promise<JsonObject> {
    const description = await this.#members.describe(member, exchange);
    this.#learn(member, description['capabilities']);
    this.#members.answered(member);
    return description;
  }

  #learn(member: FleetMember, capabilities: unknown): void {
    if (!this.#members.has(member)) return;
    const declared = declaredIn(isObject(capabilities) ? capabilities : {});
    const before = this.#declared.get(member);
    if (before && isSame(before, declared)) return;
    this.#declared.set(member, declared);
    this.#learned += 1;
  }
}

function declaredIn(capabilities: JsonObject): ReadonlySet<string> {
  const declared = new Set<string>();
  for (const name of REMEMBERED) {
    const own: unknown = capabilities[name];
    if (own) declared.add(name);
    if (isObject(own) && own['listChanged'] === true) declared.add(changes(name));
  }
  if (declaresTasks(capabilities)) declared.add(TASKS_EXTENSION);
  return declared;
}

function changes(capability: string): string {
  return `${capability}.listChanged`;
}
