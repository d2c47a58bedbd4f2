import { setTimeout as delay } from 'node:timers/promises';
import type { Revision } from '../../../src/protocol/revisions.ts';
import { aborted } from '../../support/service.ts';
import * as shown from './shown.ts';

type JsonObject = Record<string, any>;

/** A request that an official server of either major version passes to the world, and what the world can do during it. */
export interface Visit {
  readonly method: string;
  readonly params: JsonObject;
  readonly signal: AbortSignal;
  /** The answer to the question, if there is one. */
  readonly answer: JsonObject | undefined;
  /** The client's information about itself. */
  readonly client: { readonly name: string | undefined; readonly capabilities: JsonObject | undefined };
  readonly header: (name: string) => string | undefined;
  /** Sends a notification that belongs to the request. */
  readonly notify: (method: string, params: JsonObject) => Promise<void>;
  readonly log: (level: string, data: unknown) => Promise<void>;
  readonly toolsChanged: () => Promise<void>;
  readonly updated: (uri: string) => Promise<void>;
}

/** A question. The request is sent again with its answer. */
export interface Ask {
  readonly ask: { readonly method: string; readonly params: JsonObject };
}

/** The content of a server behind a bridge. It is the same in every revision, as far as the revision has the feature. */
export class World {
  readonly revision: Revision;
  /** Tools that were added while the server ran. */
  readonly grown: string[] = [];
  /** The number of calls that were notified of their cancellation. */
  cancelled = 0;
  /** Whether the user has opened the URL that the server requires. */
  visited = false;
  /** The parameter headers of calls. */
  readonly regions: (string | undefined)[] = [];

  constructor(revision: Revision) {
    this.revision = revision;
  }

  get capabilities(): JsonObject {
    return {
      logging: {},
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
      // 2024-11-05 also has completion, but no capability for it.
      ...(this.revision >= '2025-03-26' && { completions: {} }),
    };
  }

  /** @throws Refusal to send an error */
  async answer(visit: Visit): Promise<JsonObject | Ask> {
    const { method, params } = visit;
    switch (method) {
      case 'tools/list':
        return { tools: [...shown.tools(this.revision), ...this.grown.map(shown.grown)] };
      case 'tools/call':
        return this.#call(visit);
      case 'resources/list':
        return { resources: shown.resources(this.revision) };
      case 'resources/templates/list':
        return { resourceTemplates: shown.templates, ...(this.revision >= '2026-07-28' && shown.HINTS) };
      case 'resources/read':
        return shown.read(params['uri'], this.revision);
      case 'prompts/list':
        return shown.promptPage(params['cursor']);
      case 'prompts/get':
        return shown.prompt(params['name'], params['arguments'] ?? {});
      case 'completion/complete':
        return shown.completion(params['argument']);
      case 'resources/subscribe':
      case 'resources/unsubscribe':
        return {};
      case 'vendor/echo':
        await visit.notify('notifications/vendor', { said: params['said'] });
        return { echoed: params['said'] };
      default:
        throw new shown.Refusal(-32601, `Method not found: ${method}`);
    }
  }

  async #call(visit: Visit): Promise<JsonObject | Ask> {
    const { params, answer, signal } = visit;
    const { name, arguments: args = {}, _meta: meta = {} } = params;
    const question = shown.questions(this.revision)[name as string];
    if (question && answer) return shown.text(answer);
    if (question) {
      signal.addEventListener('abort', () => (this.cancelled += 1), { once: true });
      return { ask: question };
    }
    const result = shown.results(this.revision)[name as string];
    if (result) return result;
    const report = (progress: number, message: string): Promise<void> => {
      const { progressToken } = meta;
      if (progressToken === undefined) return Promise.resolve();
      const more = this.revision >= '2025-03-26' ? { message } : {};
      return visit.notify('notifications/progress', { progressToken, progress, total: 3, ...more });
    };
    switch (name) {
      case 'echo':
        return { ...shown.text(args), _meta: { 'example.com/heard': meta['example.com/said'] ?? null } };
      case 'count':
        for (const [index, word] of ['one', 'two', 'three'].entries()) {
          await report(index + 1, word);
          // With a pause between them, so that no two arrive in one chunk.
          await delay(5);
        }
        return shown.text('counted');
      case 'wait':
        await report(1, 'waiting');
        await aborted(signal);
        this.cancelled += 1;
        return shown.text('never seen');
      case 'speak':
        for (const level of ['debug', 'info', 'warning', 'error']) await visit.log(level, `${args['word']} ${level}`);
        return shown.text('spoken');
      case 'grow':
        this.grown.push(args['name']);
        await visit.toolsChanged();
        return shown.text('grown');
      case 'touch':
        await visit.updated(args['uri']);
        return shown.text('touched');
      case 'who':
        return shown.text(visit.client);
      case 'region':
        this.regions.push(visit.header('mcp-param-region'));
        return shown.text(args);
      default:
        return name === 'demand' && this.visited ? shown.text('done') : shown.fail(name);
    }
  }
}
