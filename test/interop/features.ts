import { expect } from 'vitest';
import { eventually } from '../support/process.ts';
import type { OfficialClient } from './clients.ts';

type JsonObject = Record<string, any>;

interface ToolCall {
  readonly name: string;
  readonly arguments?: JsonObject;
}

/** The features of a server, and how to trigger them. Missing features are undefined. */
export interface Peer {
  readonly name: string;
  /** Some of the required list entries. */
  readonly lists: {
    readonly tools: readonly string[];
    readonly resources?: readonly string[];
    readonly templates: readonly string[];
    readonly prompts: readonly string[];
  };
  readonly structured: { readonly call: ToolCall; readonly content: JsonObject };
  readonly resource: { readonly uri: string; readonly text: RegExp };
  readonly prompt: { readonly name: string; readonly arguments: Record<string, string>; readonly text: RegExp };
  readonly completion: { readonly params: JsonObject; readonly values: readonly string[] };
  readonly invalidArguments: ToolCall;
  readonly missingResource: string;
  /** Whether the error for a missing resource has the code of the revision. */
  readonly namesMissingResource: boolean;
  /** A call that reports this many steps. */
  readonly progress?: { readonly call: ToolCall; readonly steps: number };
  /** A call that reports progress and then runs until it is cancelled, and a call that counts cancelled calls. */
  readonly cancel?: { readonly call: ToolCall; readonly count?: ToolCall };
  /** Milliseconds to wait until a call learns that it was cancelled. Default 10 000. */
  readonly patience?: number;
  /** Makes the server log one message above the level of `setLevel`, and one below it. */
  readonly logging?: {
    readonly log: (client: OfficialClient, heard: boolean) => Promise<(params: JsonObject) => boolean>;
  };
  readonly subscription?: { readonly uri: string; readonly update: ToolCall };
  readonly listChanged?: (client: OfficialClient) => Promise<{ method: string; check: () => Promise<void> }>;
  readonly sampling?: { readonly call: ToolCall; readonly text: RegExp };
  readonly elicitation?: { readonly call: ToolCall; readonly accepted: RegExp; readonly declined: RegExp };
  readonly urlElicitation?: { readonly call: ToolCall; readonly text: RegExp; readonly errorPath?: ToolCall };
  readonly roots?: { readonly call: ToolCall; readonly text: RegExp };
  /** Whether the server has the tasks of 2025-11-25, which no bridge understands. */
  readonly tasks?: { readonly call: ToolCall };
}

export interface Feature {
  readonly name: string;
  readonly has: (peer: Peer) => boolean;
  readonly run: (client: OfficialClient, peer: Peer) => Promise<void>;
}

const always = (): boolean => true;

export const features: readonly Feature[] = [
  {
    name: 'introduction',
    has: always,
    run: async ({ methods }) => {
      expect(methods.getServerVersion()).toMatchObject({ name: expect.any(String), version: expect.any(String) });
      expect(methods.getServerCapabilities()).toMatchObject({ tools: {}, resources: {}, prompts: {}, logging: {} });
    },
  },
  {
    name: 'ping',
    has: always,
    run: ({ alive }) => alive(),
  },
  {
    name: 'tools/list',
    has: always,
    run: async ({ methods }, { lists }) => {
      const { tools } = await methods.listTools();
      expect(names(tools)).toEqual(expect.arrayContaining([...lists.tools]));
    },
  },
  {
    name: 'resources/list',
    has: ({ lists }) => lists.resources !== undefined,
    run: async ({ methods }, { lists }) => {
      const { resources } = await methods.listResources();
      expect(resources.map(({ uri }: JsonObject) => uri)).toEqual(expect.arrayContaining([...lists.resources!]));
    },
  },
  {
    name: 'resources/templates/list',
    has: always,
    run: async ({ methods }, { lists }) => {
      const { resourceTemplates } = await methods.listResourceTemplates();
      const templates = resourceTemplates.map(({ uriTemplate }: JsonObject) => uriTemplate);
      expect(templates).toEqual(expect.arrayContaining([...lists.templates]));
    },
  },
  {
    name: 'prompts/list',
    has: always,
    run: async ({ methods }, { lists }) => {
      const { prompts } = await methods.listPrompts();
      expect(names(prompts)).toEqual(expect.arrayContaining([...lists.prompts]));
    },
  },
  {
    name: 'structured output',
    has: always,
    run: async ({ callTool }, { structured }) => {
      const result = await callTool(structured.call);
      expect(result['structuredContent']).toEqual(structured.content);
      expect(result['content'][0].type).toBe('text');
    },
  },
  {
    name: 'resources/read',
    has: always,
    run: async ({ methods }, { resource: { uri, text } }) => {
      const { contents } = await methods.readResource({ uri });
      expect(contents).toEqual([expect.objectContaining({ uri, text: expect.stringMatching(text) })]);
    },
  },
  {
    name: 'prompts/get',
    has: always,
    run: async ({ methods }, { prompt: { name, arguments: args, text } }) => {
      const { messages } = await methods.getPrompt({ name, arguments: args });
      expect(messages[0]).toMatchObject({ role: 'user', content: { type: 'text', text: expect.stringMatching(text) } });
    },
  },
  {
    name: 'completion',
    has: always,
    run: async ({ methods }, { completion }) => {
      expect((await methods.complete(completion.params))['completion']['values']).toEqual(completion.values);
    },
  },
  {
    name: 'unknown tool',
    has: always,
    run: async ({ callTool }) => {
      // An error, or a result with an error: the specification has had both.
      await expect(failure(callTool({ name: 'no-such-tool' }))).resolves.toMatch(/no-such-tool|unknown tool/i);
    },
  },
  {
    name: 'invalid arguments',
    has: always,
    run: async ({ callTool }, { invalidArguments }) => {
      await expect(failure(callTool(invalidArguments))).resolves.toMatch(/invalid|validat/i);
    },
  },
  {
    name: 'resource not found',
    has: always,
    run: async ({ methods, ...client }, { missingResource, namesMissingResource }) => {
      const error = await rejection(methods.readResource({ uri: missingResource }));
      expect(error.message).toMatch(/not found|unknown resource/i);
      if (namesMissingResource) expect(error).toMatchObject({ code: client.missingResource });
    },
  },
  {
    name: 'unknown method',
    has: always,
    run: async ({ request }) => {
      expect(await rejection(request('everwire/unheard-of', { with: ['params'] }))).toMatchObject({ code: -32601 });
    },
  },
  {
    name: 'progress',
    has: ({ progress }) => progress !== undefined,
    run: async ({ callTool, losesLateProgress, questions }, { progress }) => {
      const seen: number[] = [];
      const before = questions.length;
      const { call, steps } = progress!;
      // Client 2.x also counts the rounds of questions of a call as progress.
      const own = ({ message }: { message?: string }): boolean => message?.startsWith('Fulfilling input') ?? false;
      await callTool(call, { onprogress: (report) => void (own(report) || seen.push(report.progress)) });
      const all = Array.from({ length: steps }, (_, index) => index + 1);
      // server-everything asks for roots once, 350 ms after the handshake. While the call waits for the answer in
      // 2026-07-28, only the newest progress is kept.
      const asked = questions.length > before;
      // On a busy machine, several steps may arrive in one chunk with the result.
      const last = seen.at(-1) ?? 1;
      const mayMiss = (step: number): boolean => (step > last ? losesLateProgress : asked);
      expect(seen).toEqual(all.filter((step) => seen.includes(step) || !mayMiss(step)));
    },
  },
  {
    name: 'cancel',
    has: ({ cancel }) => cancel !== undefined,
    run: async ({ callTool, alive, errors }, { cancel, patience }) => {
      const { call, count } = cancel!;
      const counted = async (): Promise<number> => (count ? Number(textOf(await callTool(count))) : 0);
      // server-everything asks for roots once, 350 ms after the handshake. During a whole call, that cannot cross the
      // cancellation.
      if (!count) await callTool(call);
      const before = await counted();
      const controller = new AbortController();
      let given: Promise<Error> | undefined;
      await new Promise<void>((resolve) => {
        given = rejection(callTool(call, { signal: controller.signal, onprogress: () => resolve() }));
      });
      controller.abort(new Error('enough'));
      expect((await given)!.message).toMatch(/enough|cancell?ed|abort/i);
      if (count)
        await eventually(async () => (await counted()) > before, 'the call learns that it was cancelled', patience);
      // Once more: when this call is answered, a response to the cancelled one would have arrived too.
      else expect(textOf(await callTool(call))).not.toBe('');
      expect(errors.filter(({ message }) => /unknown message/i.test(message))).toEqual([]);
      await alive();
    },
  },
  {
    name: 'logging',
    has: ({ logging }) => logging !== undefined,
    run: async (client, { logging }) => {
      const { setLevel, notices, notice } = client;
      await setLevel('error');
      const from = notices.length;
      const unheard = await logging!.log(client, false);
      await setLevel('debug');
      await notice('notifications/message', await logging!.log(client, true), from);
      const quiet = notices
        .slice(from)
        .filter(({ method, params }) => method === 'notifications/message' && unheard(params!));
      expect(quiet).toEqual([]);
    },
  },
  {
    name: 'subscription',
    has: ({ subscription }) => subscription !== undefined,
    run: async ({ subscribe, alive, callTool, notices, notice }, { subscription }) => {
      const { uri, update } = subscription!;
      const end = await subscribe(uri);
      const from = notices.length;
      await callTool(update);
      await notice('notifications/resources/updated', (params) => params['uri'] === uri, from);
      await end();
      const after = notices.length;
      await callTool(update);
      await alive();
      expect(notices.slice(after).filter(({ method }) => method === 'notifications/resources/updated')).toEqual([]);
    },
  },
  {
    name: 'list changed',
    has: ({ listChanged }) => listChanged !== undefined,
    run: async (client, { listChanged }) => {
      const end = await client.followLists();
      const from = client.notices.length;
      const { method, check } = await listChanged!(client);
      await client.notice(method, undefined, from);
      await check();
      await end();
    },
  },
  {
    name: 'sampling',
    has: ({ sampling }) => sampling !== undefined,
    run: async ({ callTool, questions }, { sampling }) => {
      const from = questions.length;
      expect(textOf(await callTool(sampling!.call))).toMatch(sampling!.text);
      expect(questions.slice(from)).toEqual([
        {
          method: 'sampling/createMessage',
          params: expect.objectContaining({ messages: [expect.objectContaining({ role: 'user' })] }),
        },
      ]);
    },
  },
  {
    name: 'elicitation',
    has: ({ elicitation }) => elicitation !== undefined,
    run: async ({ callTool, questions, answers }, { elicitation }) => {
      const { call, accepted, declined } = elicitation!;
      const from = questions.length;
      expect(textOf(await callTool(call))).toMatch(accepted);
      expect(questions.slice(from).map(({ method }) => method)).toEqual(['elicitation/create']);
      const before = answers.elicitation;
      answers.elicitation = () => ({ action: 'decline' });
      try {
        expect(textOf(await callTool(call))).toMatch(declined);
      } finally {
        answers.elicitation = before;
      }
    },
  },
  {
    name: 'elicitation by URL',
    has: ({ urlElicitation }) => urlElicitation !== undefined,
    run: async ({ callTool, questions }, { urlElicitation }) => {
      const { call, text: expected, errorPath } = urlElicitation!;
      const from = questions.length;
      expect(textOf(await callTool(call))).toMatch(expected);
      expect(questions.slice(from)).toEqual([
        { method: 'elicitation/create', params: expect.objectContaining({ mode: 'url' }) },
      ]);
      if (!errorPath) return;
      expect(await rejection(callTool(errorPath))).toMatchObject({
        code: -32042,
        data: { elicitations: [expect.objectContaining({ mode: 'url' })] },
      });
    },
  },
  {
    name: 'roots',
    has: ({ roots }) => roots !== undefined,
    run: async ({ callTool, rootsChanged, answers }, { roots }) => {
      const list = async (): Promise<string> => textOf(await callTool(roots!.call));
      expect(await list()).toMatch(roots!.text);
      const before = answers.roots;
      answers.roots = () => ({ roots: [{ uri: 'file:///tmp/elsewhere', name: 'elsewhere' }] });
      try {
        await rootsChanged();
        await eventually(async () => (await list()).includes('file:///tmp/elsewhere'), 'the server has the new roots');
      } finally {
        answers.roots = before;
        await rootsChanged();
      }
      await eventually(async () => roots!.text.test(await list()), 'the server has the old roots again');
    },
  },
  {
    name: 'tasks',
    has: ({ tasks }) => tasks !== undefined,
    run: async ({ request }, { tasks }) => {
      const created = await request('tools/call', { ...tasks!.call, task: { ttl: 60_000 } });
      const { taskId } = created['task'];
      expect(created['task']).toMatchObject({ taskId: expect.any(String), status: 'working' });
      expect(await request('tasks/get', { taskId })).toMatchObject({ taskId, status: 'working' });
      expect((await request('tasks/list'))['tasks']).toEqual([expect.objectContaining({ taskId })]);
      expect(await request('tasks/cancel', { taskId })).toMatchObject({ taskId, status: 'cancelled' });
    },
  },
];

function names(entries: JsonObject[]): string[] {
  return entries.map(({ name }) => name);
}

function textOf(result: JsonObject): string {
  expect(result['isError']).not.toBe(true);
  return result['content'].map((block: JsonObject) => block['text'] ?? '').join('\n');
}

async function rejection(answer: Promise<unknown>): Promise<Error & { code?: number }> {
  const result = await answer.then(
    (value) => ({ value }),
    (error: Error) => ({ error }),
  );
  if ('error' in result) return result.error;
  throw new Error(`Should have failed, but answered ${JSON.stringify(result.value)}`);
}

/** How a call failed: its error, or the text of a result with `isError`. */
async function failure(answer: Promise<JsonObject>): Promise<string> {
  try {
    const result = await answer;
    expect(result['isError']).toBe(true);
    return result['content'][0].text;
  } catch (error) {
    return (error as Error).message;
  }
}
